/**
 * Stand-ins for what the HTTP door is given: a `Runs` and a store that hold one run and answer at
 * once, and remember what they were asked. `changes` lists every call that would change something.
 */
import type { Run } from '../../src/domain/run.ts'
import { NotFoundError } from '../../src/errors.ts'
import type { HttpStore } from '../../src/http/deps.ts'
import type { ClaimRequest, Runs } from '../../src/runs/runs.ts'
import { hashSecret, leaseToken, runToken } from '../../src/secrets.ts'
import type { Once, StoredToken } from '../../src/store.ts'

export const startedAt = Date.parse('2026-01-31T12:00:00Z')
export const leaseSecret = 'lease-secret'
export const theRunId = 'run_0000000001abcdefghijkmnpqr'

export const theRun: Run = {
  id: theRunId,
  rev: 1,
  type: 'review',
  subjectId: 'sub_1',
  subject: 'pr-5',
  key: `acme/widgets:pr-5:base-${'a'.repeat(40)}:head-${'b'.repeat(40)}`,
  pair: 'pair',
  repo: 'acme/widgets',
  pr: 5,
  baseSha: 'a'.repeat(40),
  headSha: 'b'.repeat(40),
  state: 'running',
  onNewer: 'supersede',
  attempt: 1,
  round: 1,
  fence: 1,
  orderAt: null,
  lastEventAt: null,
  rerunWanted: false,
  leaseHash: hashSecret(leaseSecret),
  pastLeaseHashes: '',
  completedLeaseHash: null,
  leaseMs: 60_000,
  leaseExpiresAt: startedAt + 60_000,
  holder: 'worker',
  worker: 'w1',
  availableAt: null,
  dueAt: null,
  attemptsMax: 3,
  timeoutMs: 3_600_000,
  pendingTimeoutMs: 3_600_000,
  createdAt: startedAt,
  startedAt,
  finishedAt: null,
  deadlineAt: startedAt + 3_600_000,
  supersededBy: null,
  outcome: null,
  verdict: null,
  summary: null,
  description: null,
  targetUrl: null,
  input: '{"depth":2}',
  result: null,
  errorCode: null,
  errorText: null,
  webhookId: null,
  triggerEvent: 'pull_request',
  triggerAction: 'opened',
  triggerSender: 'mona',
  previousRunId: 'run_before',
  previousHeadSha: 'c'.repeat(40),
  previousVerdict: 'failure',
}

export interface Change {
  readonly verb: string
  readonly request: unknown
  readonly actor: string
  readonly once: Once | undefined
}

export interface Fakes {
  readonly runs: Runs
  readonly store: HttpStore
  readonly changes: Change[]
  readonly tokens: Map<string, StoredToken>
  /** What the store holds; tests put other runs in. */
  run: Run
  /** When set, every verb of both rejects with it. */
  failure: Error | null
  /** When set, the long-poll verbs hold on until their signal fires. */
  holds: boolean
  /** Resolves when a long-poll began to hold. */
  readonly holding: PromiseWithResolvers<void>
}

export function makeFakes(): Fakes {
  const fakes: Omit<Fakes, 'runs' | 'store'> = {
    changes: [],
    tokens: new Map(),
    run: theRun,
    failure: null,
    holds: false,
    holding: Promise.withResolvers(),
  }
  return Object.assign(fakes, { runs: fakeRuns(fakes), store: fakeStore(fakes) })
}

type State = Omit<Fakes, 'runs' | 'store'>

function fakeRuns(state: State): Runs {
  const change = (verb: string, request: unknown, actor: string, once?: Once): void => {
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
      return request.worker === 'idle' ? null : { run: theRun, lease, runToken: token }
    },
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
    get: async (runId) => find(runId),
    async list() {
      if (state.failure !== null) throw state.failure
      return { items: [state.run], nextCursor: 'next' }
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
    now: () => startedAt,
    async ping() {
      check()
    },
    async token(id) {
      check()
      return state.tokens.get(id) ?? null
    },
    async run(id) {
      check()
      return id === state.run.id ? state.run : null
    },
    async createToken(token, once) {
      check()
      const { actor } = token
      state.changes.push({ verb: 'createToken', request: token, actor, once: once ?? undefined })
      const { scope, name, userId, secret } = token
      return { token: { id: 'tok_new', scope, name, userId, createdAt: startedAt }, secret }
    },
    async listTokens() {
      check()
      return { items: [...state.tokens.values()], nextCursor: null }
    },
    async deleteToken(id, actor) {
      check()
      if (!state.tokens.has(id)) throw new NotFoundError('token_not_found', `no token ${id}`)
      state.changes.push({ verb: 'deleteToken', request: { id }, actor, once: undefined })
    },
    async listAudit(filter) {
      check()
      const { runId = theRunId } = filter
      const data = { reason: 'new' }
      const row = {
        id: 7,
        order: 7,
        at: startedAt,
        type: 'run.claimed',
        actor: 'admin',
        runId,
        data,
      } as const
      return { items: [row], nextCursor: null }
    },
  }
}
