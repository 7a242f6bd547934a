/**
 * Fakes for what the HTTP server needs: a `Runs` and a store that have one run, answer at once, and
 * record what they were asked. `changes` lists every call that would change something.
 */
import { brotliCompressSync } from 'node:zlib'
import type { AuditFeed } from '../../src/audit/feed.ts'
import type { AuditRow } from '../../src/domain/audit.ts'
import type { InboxEntry } from '../../src/domain/inbox.ts'
import type { Run } from '../../src/domain/run.ts'
import type { Subject } from '../../src/domain/subject.ts'
import { NotFoundError } from '../../src/errors.ts'
import type { HttpStore } from '../../src/http/deps.ts'
import type { Intake } from '../../src/intake/intake.ts'
import { isSignedBy } from '../../src/intake/events/signature.ts'
import type { RunGitHubTokens } from '../../src/runs/github-token.ts'
import type { ClaimRequest, Runs } from '../../src/runs/runs.ts'
import { leaseToken, runToken } from '../../src/secrets.ts'
import type { IdempotencyKey, StepAnswer, StoredToken } from '../../src/store.ts'
import type { Refusals } from '../../src/store/token-store.ts'
import { startedAt, theRunId } from './fake-facts.ts'
import { leaseSecret, theRun } from './fake-run.ts'
import { fakeGitHubTokens } from './fake-github-tokens.ts'
import { fakeOutbox } from './fake-outbox.ts'
import { fakeSteps, fakeStepVerbs, theStep } from './fake-steps.ts'
import { fakeTokens } from './fake-tokens.ts'

export { leaseSecret, startedAt, theRun, theRunId }

export const webhookSecret = 'a-webhook-secret'
export const theEntryId = 'inb_0000000001abcdefghijkmnpqr'
export const theWebhookId = '72d3162e-cc78-11e3-81ab-4c9367dc0958'

export const theEntry: InboxEntry = {
  arrival: 1,
  id: theEntryId,
  webhookId: theWebhookId,
  event: 'pull_request',
  action: 'opened',
  repo: 'acme/widgets',
  repoId: 42,
  number: 5,
  sender: 'mona',
  lane: '42#5',
  eventAt: startedAt - 1000,
  prState: 'open',
  needsLook: false,
  state: 'processed',
  decision: 'accepted',
  reason: null,
  outcomes: [{ type: 'review', result: 'claimed', reason: 'new', runIds: [theRunId] }],
  duplicateOf: null,
  receivedAt: startedAt,
  processedAt: startedAt + 1,
  dueAt: null,
  tries: 0,
  lastError: null,
}

export interface Change {
  readonly verb: string
  readonly request: unknown
  readonly actor: string
  readonly once: IdempotencyKey | undefined
}

export interface Fakes {
  readonly runs: Runs
  readonly intake: Intake
  readonly store: HttpStore
  readonly auditFeed: AuditFeed
  readonly githubTokens: RunGitHubTokens
  readonly changes: Change[]
  readonly tokens: Map<string, StoredToken>
  /** Ids of tokens that were noted as used. */
  readonly touched: string[]
  readonly refusals: Refusals[]
  /** The filters of all requested lists of runs and deliveries. */
  readonly filters: object[]
  /** The repository that the run's subject is in. */
  subjectScope: string | null
  repositoryGithubId: number | null
  /** The only run in the store; tests replace it. */
  run: Run
  /** What the store answers about a step, and the only step that it has; tests replace it. */
  stepAnswer: StepAnswer
  /** If set, every verb of the runs and the store rejects with it. */
  failure: Error | null
  /** If set, the long-poll verbs wait until their signal fires. */
  holds: boolean
  /** Resolves when a long-poll has begun to wait. */
  readonly holding: PromiseWithResolvers<void>
}

export function makeFakes(): Fakes {
  const fakes: State = {
    changes: [],
    tokens: new Map(),
    touched: [],
    refusals: [],
    filters: [],
    subjectScope: null,
    repositoryGithubId: null,
    run: theRun,
    stepAnswer: { reply: 'began', step: theStep },
    failure: null,
    holds: false,
    holding: Promise.withResolvers(),
  }
  const runs = fakeRuns(fakes)
  const intake = fakeIntake(fakes)
  return Object.assign(fakes, {
    ...{ runs, intake, store: fakeStore(fakes), auditFeed: fakeFeed(fakes) },
    githubTokens: fakeGitHubTokens(fakes),
  })
}

type State = Omit<Fakes, 'runs' | 'intake' | 'store' | 'auditFeed' | 'githubTokens'>

/** What HTTP does not use. */
const notOverHttp: Pick<Runs, 'leaseMany' | 'untilLost' | 'giveUp' | 'cancelPending'> = {
  leaseMany: () => Promise.resolve([]),
  giveUp: () => Promise.resolve(theRun),
  cancelPending: () => Promise.resolve(theRun),
  untilLost: () => Promise.resolve(),
}

function fakeRuns(state: State): Runs {
  const change = (verb: string, request: unknown, actor: string, once?: IdempotencyKey): void => {
    if (state.failure !== null) throw state.failure
    state.changes.push({ verb, request, actor, once })
  }
  const claimed = {
    shouldProcess: true,
    reason: 'new',
    runKey: theRun.key,
    supersededRunKeys: [],
    run: theRun,
    lease: { token: leaseToken(leaseSecret), expiresAt: startedAt + 60_000 },
    runToken: runToken(theRunId, leaseSecret),
  } as const
  const find = (id: string): Run => {
    if (state.failure !== null) throw state.failure
    if (id !== state.run.id) throw new NotFoundError('run_not_found', `there is no run ${id}`)
    return state.run
  }
  return {
    async claim(request: ClaimRequest, actor, once) {
      change('claim', request, actor, once)
      return request.rerun === true
        ? { ...claimed, shouldProcess: false, reason: 'duplicate', lease: null, runToken: null }
        : claimed
    },
    async lease(request, actor, once) {
      change('lease', request, actor, once)
      if (request.worker === 'idle') await held(state, request.signal)
      const { lease, runToken: token } = claimed
      return request.worker === 'idle'
        ? null
        : { run: theRun, lease, runToken: token, steps: [theStep] }
    },
    ...notOverHttp,
    async heartbeat(request, actor, once) {
      find(request.runId)
      change('heartbeat', request, actor, once)
      await held(state, request.signal)
      return { expiresAt: startedAt + 60_000, fence: 1, leaseMs: 60_000 }
    },
    async release(runId, leaseHash, actor, once) {
      const run = find(runId)
      change('release', { runId, leaseHash }, actor, once)
      return run
    },
    async complete(request, actor, once) {
      const run = find(request.runId)
      change('complete', request, actor, once)
      return run
    },
    async cancel(runId, actor, once) {
      const run = find(runId)
      change('cancel', { runId }, actor, once)
      return run
    },
    async rerun(runId, actor, once) {
      find(runId)
      change('rerun', { runId }, actor, once)
      return claimed
    },
    ...fakeStepVerbs(state),
    get: async (runId) => find(runId),
    async list(filter) {
      if (state.failure !== null) throw state.failure
      state.filters.push(filter)
      return { items: [state.run], nextCursor: 'next' }
    },
  }
}

function fakeIntake(state: State): Intake {
  const change = (verb: string, request: unknown, actor: string, once?: IdempotencyKey): void => {
    if (state.failure !== null) throw state.failure
    state.changes.push({ verb, request, actor, once })
  }
  return {
    isSigned: (body, signature) => isSignedBy([webhookSecret], body, signature),
    async receive(delivery) {
      change('receive', delivery, 'github')
      const accepted = delivery.event === 'pull_request'
      return {
        inboxId: theEntryId,
        decision: accepted ? 'accepted' : 'ignored',
        reason: accepted ? null : 'no-trigger',
        runIds: [],
      }
    },
    async replay(entryId, actor, once) {
      if (entryId !== theEntryId) throw new NotFoundError('inbox_entry_not_found', 'no such entry')
      change('replay', { entryId }, actor, once)
      return { ...theEntry, state: 'waiting', dueAt: startedAt, processedAt: null }
    },
  }
}

async function held(state: State, signal: AbortSignal | undefined): Promise<void> {
  if (!state.holds || signal?.aborted !== false) return
  await new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve())
    state.holding.resolve()
  })
}

function fakeStore(state: State): HttpStore {
  const check = (): void => {
    if (state.failure !== null) throw state.failure
  }
  return {
    outbox: fakeOutbox(state),
    steps: fakeSteps(state),
    now: () => startedAt,
    upkeep: { servedAt: async () => startedAt },
    tokens: fakeTokens(state),
    async ping() {
      check()
    },
    runs: fakeRunReads(state, check),
    inbox: {
      async get(id) {
        check()
        return id === theEntryId || id === theWebhookId ? theEntry : null
      },
      async getByWebhookIds(webhookIds) {
        check()
        return webhookIds.includes(theWebhookId) ? [theEntry] : []
      },
      async body() {
        check()
        const body = brotliCompressSync(Buffer.from('{"action":"opened"}'))
        return { headers: '{"x-github-event":"pull_request"}', body }
      },
      async list() {
        check()
        return { items: [theEntry], nextCursor: 'next' }
      },
    },
    repositories: {
      async getByName(name) {
        check()
        return name === 'acme/widgets'
          ? { id: 'rep_1', name, githubId: state.repositoryGithubId }
          : null
      },
      async get(id) {
        check()
        return { id, name: 'acme/widgets', githubId: state.repositoryGithubId }
      },
      async names(ids) {
        check()
        return new Map(ids.map((id) => [id, 'acme/widgets']))
      },
    },
    audit: {
      get: async () => [],
      async list({ runId = theRunId, deliveryId }) {
        check()
        const row = auditRow(runId)
        const items = deliveryId === undefined ? [row] : [{ ...row, deliveryId }]
        return { items, nextCursor: null }
      },
    },
  }
}

function fakeRunReads(state: State, check: () => void): HttpStore['runs'] {
  return {
    async get(id) {
      check()
      return id === state.run.id ? state.run : null
    },
    async types(ids) {
      check()
      return new Map(ids.map((id) => [id, state.run.type]))
    },
    async subject() {
      check()
      return state.subjectScope === null ? null : ({ scope: state.subjectScope } as Subject)
    },
    async subjectsOf() {
      check()
      return []
    },
    async ahead() {
      check()
      return state.run
    },
    async list() {
      check()
      return { items: [state.run], nextCursor: null }
    },
    async reportStatus(request, once) {
      check()
      const { runId, actor } = request
      if (runId !== state.run.id) throw new NotFoundError('run_not_found', `no run ${runId}`)
      state.changes.push({ verb: 'reportStatus', request, actor, once: once ?? undefined })
      return state.run
    },
  }
}

const auditRow = (runId: string): AuditRow => ({
  id: 7,
  causeId: 3,
  order: 7,
  at: startedAt,
  type: 'run.claimed',
  actor: 'admin',
  runId,
  data: { reason: 'new' },
})

/** Sends one event and ends, unless `holds` is set. */
function fakeFeed(state: State): AuditFeed {
  return {
    async follow({ after, filter, signal }) {
      if (state.failure !== null) throw state.failure
      return (async function* () {
        yield { rows: [], order: after ?? 6 }
        yield { rows: [auditRow(filter.runId ?? theRunId)], order: 7 }
        await held(state, signal)
      })()
    },
  }
}
