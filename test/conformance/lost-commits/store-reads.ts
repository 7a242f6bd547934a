/** Every verb of the store that only reads, and therefore has no case of a lost commit. */
import type { Store } from '../../../src/store.ts'

type Reads = Readonly<Record<string, (store: Store) => unknown>>

const page = { limit: 10, cursor: null }

/**
 * Three of these write by other verbs: `watch` stores what it noticed by the transaction of `beat`,
 * a read of what is due first corrects times of a clock that was set back, and a read of the audit
 * numbers its newest rows.
 */
const ofTheStore: Reads = {
  now: (store) => store.now(),
  ping: (store) => store.ping(),
  'upkeep.watch': (store) => store.upkeep.watch(),
  'inbox.due': (store) => store.inbox.due({}),
  'inbox.get': (store) => store.inbox.get('inb_1'),
  'inbox.body': (store) => store.inbox.body(1),
  'inbox.list': (store) => store.inbox.list({}, page),
  'inbox.backlog': (store) => store.inbox.backlog(),
  'runs.availableTypes': (store) => store.runs.availableTypes(['review'], [], null),
  // It rejects, because there is no such run.
  'runs.held': (store) => store.runs.held({ runId: 'run_1', leaseHash: 'hash' }).catch(() => null),
  'runs.get': (store) => store.runs.get('run_1'),
  'runs.subject': (store) => store.runs.subject('sub_1'),
  'runs.subjectsOf': (store) => store.runs.subjectsOf('acme/widgets', 1),
  'runs.ahead': (store) => store.runs.ahead('sub_1'),
  'runs.list': (store) => store.runs.list({}, page),
  'runs.lostHolds': (store) => store.runs.lostHolds([{ runId: 'run_1', fence: 1 }]),
  'runs.countActive': (store) => store.runs.countActive(),
  'runs.due': (store) => store.runs.due(10),
  'runs.types': (store) => store.runs.types(['run_1']),
  'steps.list': (store) => store.steps.list('run_1', null),
  'steps.get': (store) => store.steps.get('run_1', 'model'),
  'inbox.getByWebhookIds': (store) => store.inbox.getByWebhookIds(['guid']),
  'upkeep.servedAt': (store) => store.upkeep.servedAt(),
  'upkeep.vitals': (store) => store.upkeep.vitals(),
  'audit.list': (store) => store.audit.list({}, page),
  'audit.get': (store) => store.audit.get([1]),
  'audit.after': (store) => store.audit.after(0, {}, 10),
  'audit.latestOrder': (store) => store.audit.latestOrder(),
  'repositories.get': (store) => store.repositories.get('rep_1'),
  'repositories.getByName': (store) => store.repositories.getByName('acme/widgets'),
  'repositories.nameKnowledge': (store) => store.repositories.nameKnowledge('acme/widgets', 1),
  'repositories.names': (store) => store.repositories.names(['rep_1']),
  'upkeep.firstStartedAt': (store) => store.upkeep.firstStartedAt(),
  'tokens.list': (store) => store.tokens.list(page),
  'tokens.get': (store) => store.tokens.get('tok_1'),
  'tokens.ended': (store) => store.tokens.ended(['tok_1']),
  close: (store) => store.close(),
}

const ofTheOutbox: Reads = {
  'outbox.nextDueAt': ({ outbox }) => outbox.nextDueAt(),
  'outbox.budgets': ({ outbox }) => outbox.budgets(),
  'outbox.blockedUntil': ({ outbox }) => outbox.blockedUntil('token'),
  'outbox.delivery': ({ outbox }) => outbox.delivery('del_1'),
  'outbox.deliveryWithPlace': ({ outbox }) => outbox.deliveryWithPlace('del_1'),
  'outbox.attemptsOf': ({ outbox }) => outbox.attemptsOf('del_1'),
  'outbox.list': ({ outbox }) => outbox.list({}, page),
  'outbox.messageBefore': ({ outbox }) => outbox.messageBefore({ runId: 'run_1', line: 1 }),
  'outbox.anchorsOf': ({ outbox }) =>
    outbox.anchorsOf([{ id: 'run_1', subjectId: 'sub_1', anchorPer: 'subject' }]),
  'outbox.backlog': ({ outbox }) => outbox.backlog(),
  'outbox.authors': ({ outbox }) => outbox.authors(),
  'outbox.knowsSince': ({ outbox }) => outbox.knowsSince(),
  'outbox.restoreNote': ({ outbox }) => outbox.restoreNote(),
}

const ofCatchUp: Reads = {
  'catchUp.knownWebhooks': ({ catchUp }) => catchUp.knownWebhooks(['guid']),
  'catchUp.eventHeads': ({ catchUp }) => catchUp.eventHeads({ lane: 'lane' }, 10),
  'catchUp.lastEvent': ({ catchUp }) => catchUp.lastEvent({ lane: 'lane' }),
  'catchUp.hasStateEvent': ({ catchUp }) => catchUp.hasStateEvent('lane', 'open'),
  'catchUp.repositoriesInUse': ({ catchUp }) => catchUp.repositoriesInUse(0, 10),
  'catchUp.quietRepositories': ({ catchUp }) => catchUp.quietRepositories(1, 10),
  'catchUp.deliveriesRead': ({ catchUp }) => catchUp.deliveriesRead(),
  'catchUp.backlog': ({ catchUp }) => catchUp.backlog(),
}

export const reads: Reads = { ...ofTheStore, ...ofTheOutbox, ...ofCatchUp }
