/** Every verb of the store that has no case among the lost commits, because it only reads. */
import type { Store } from '../../src/store.ts'

type Reads = Readonly<Record<string, (store: Store) => unknown>>

const page = { limit: 10, cursor: null }

/**
 * `watch` stores what it noticed by the transaction of `beat`. Whoever asks what is due brings
 * times of a clock that was set back near first, and readers of the audit place its newest rows.
 */
const ofTheStore: Reads = {
  now: (store) => store.now(),
  ping: (store) => store.ping(),
  watch: (store) => store.watch(),
  dueWebhooks: (store) => store.dueWebhooks({}),
  inboxEntry: (store) => store.inboxEntry('inb_1'),
  webhookBody: (store) => store.webhookBody(1),
  listInbox: (store) => store.listInbox({}, page),
  inboxBacklog: (store) => store.inboxBacklog(),
  availableTypes: (store) => store.availableTypes(['review'], true, null),
  run: (store) => store.run('run_1'),
  subject: (store) => store.subject('sub_1'),
  subjectsOf: (store) => store.subjectsOf('acme/widgets', 1),
  runAhead: (store) => store.runAhead('sub_1'),
  listRuns: (store) => store.listRuns({}, page),
  lostHolds: (store) => store.lostHolds([{ runId: 'run_1', fence: 1 }]),
  activeRuns: (store) => store.activeRuns(),
  dueRuns: (store) => store.dueRuns(10),
  servedAt: (store) => store.servedAt(),
  vitals: (store) => store.vitals(),
  listAudit: (store) => store.listAudit({}, page),
  auditAfter: (store) => store.auditAfter(0, {}, 10),
  latestAuditOrder: (store) => store.latestAuditOrder(),
  repository: (store) => store.repository('rep_1'),
  repositoryNamed: (store) => store.repositoryNamed('acme/widgets'),
  nameStanding: (store) => store.nameStanding('acme/widgets', 1),
  repositoryNames: (store) => store.repositoryNames(['rep_1']),
  firstStartedAt: (store) => store.firstStartedAt(),
  listTokens: (store) => store.listTokens(page),
  token: (store) => store.token('tok_1'),
  endedTokens: (store) => store.endedTokens(['tok_1']),
  close: (store) => store.close(),
}

const ofTheOutbox: Reads = {
  nextDueAt: ({ outbox }) => outbox.nextDueAt(),
  budgets: ({ outbox }) => outbox.budgets(),
  blockedUntil: ({ outbox }) => outbox.blockedUntil('token'),
  delivery: ({ outbox }) => outbox.delivery('del_1'),
  placed: ({ outbox }) => outbox.placed('del_1'),
  attemptsOf: ({ outbox }) => outbox.attemptsOf('del_1'),
  list: ({ outbox }) => outbox.list({}, page),
  messageBefore: ({ outbox }) => outbox.messageBefore({ runId: 'run_1', line: 1 }),
  anchorsOf: ({ outbox }) =>
    outbox.anchorsOf([{ id: 'run_1', subjectId: 'sub_1', anchorPer: 'subject' }]),
  backlog: ({ outbox }) => outbox.backlog(),
  authors: ({ outbox }) => outbox.authors(),
  knowsSince: ({ outbox }) => outbox.knowsSince(),
  restoreNote: ({ outbox }) => outbox.restoreNote(),
}

const ofCatchUp: Reads = {
  knownWebhooks: ({ catchUp }) => catchUp.knownWebhooks(['guid']),
  heardHeads: ({ catchUp }) => catchUp.heardHeads({ lane: 'lane' }, 10),
  lastHeard: ({ catchUp }) => catchUp.lastHeard({ lane: 'lane' }),
  wasStateHeard: ({ catchUp }) => catchUp.wasStateHeard('lane', 'open'),
  repositoriesInUse: ({ catchUp }) => catchUp.repositoriesInUse(0, 10),
  quietRepositories: ({ catchUp }) => catchUp.quietRepositories(1, 10),
  deliveriesRead: ({ catchUp }) => catchUp.deliveriesRead(),
  backlog: ({ catchUp }) => catchUp.backlog(),
}

/** By the part of the store that has them: the store itself has no name. */
export const reads: Readonly<Record<string, Reads>> = {
  '': ofTheStore,
  outbox: ofTheOutbox,
  catchUp: ofCatchUp,
}
