/** A fake outbox for the HTTP tests: one delivery with one attempt, and one budget. */
import { newBudget, type Budget } from '../../src/domain/outbox/budget.ts'
import { defaultPublishing } from '../../src/domain/outbox/schedule.ts'
import type { DeliveryAttempt, Delivery } from '../../src/domain/outbox/delivery.ts'
import { NotFoundError } from '../../src/errors.ts'
import type { HttpStore } from '../../src/http/deps.ts'
import type { IdempotencyKey } from '../../src/store.ts'
import { startedAt, theRunId } from './fake-facts.ts'
import type { Change } from './fakes.ts'

export const theDeliveryId = 'del_0000000001abcdefghijkmnpqr'

export const theDelivery: Delivery = {
  id: theDeliveryId,
  rev: 3,
  kind: 'state',
  channel: 'github-status',
  target: `status rep_1 ${'b'.repeat(40)} holdfast/review`,
  name: 'status',
  runId: theRunId,
  subjectId: 'sub_1',
  repositoryId: 'rep_1',
  thread: 5,
  address: null,
  sha: 'b'.repeat(40),
  markerKey: 'key',
  round: 1,
  versionFence: 7,
  versionSeq: 2,
  causeId: 7,
  content: '{"context":"holdfast/review","state":"pending","description":"","targetUrl":null}',
  final: false,
  announces: true,
  status: 'PENDING',
  reason: null,
  wait: 'backoff',
  priority: 0,
  queue: null,
  waitsSince: null,
  turn: null,
  line: null,
  dueAt: startedAt + 1000,
  leaseId: null,
  leasedUntil: null,
  attemptId: null,
  tries: 1,
  deadlineAt: startedAt + 86_400_000,
  announcedFence: 7,
  sentFence: 7,
  sentSeq: 1,
  sentHash: 'hash',
  sentAt: startedAt - 5000,
  shownSince: startedAt - 5000,
  providerId: '41',
  providerUrl: 'https://github.test/acme/widgets/commit/b',
  coalesced: 0,
  protocol: {},
  errorCode: 'network',
  errorText: 'the connection never opened',
  createdAt: startedAt - 6000,
  changedAt: startedAt - 2000,
  closedAt: null,
}

export const theAttempt: DeliveryAttempt = {
  id: 'att_1',
  deliveryId: theDeliveryId,
  action: 'create',
  versionFence: 7,
  versionSeq: 2,
  startedAt: startedAt - 1500,
  endedAt: startedAt - 1000,
  outcome: 'retry',
  late: false,
  errorCode: 'network',
  errorText: 'the connection never opened',
  httpStatus: null,
  requestId: 'req_1',
  githubRequestId: null,
  providerId: null,
}

export const theBudget: Budget = {
  ...newBudget('installation:7', startedAt),
  lastWriteAt: startedAt - 1000,
  seconds: [[startedAt - 1000, 3, 1]],
  minutes: [[startedAt - 60_000, 9, 2]],
  blockedUntil: startedAt + 30_000,
  blockedReason: 'rate_limited',
}

interface State {
  readonly filters: object[]
  readonly changes: Change[]
  readonly failure: Error | null
}

const theAnchor = { commentId: '77', url: 'https://github.test/acme/widgets/pull/5#77' }

export function fakeOutbox(state: State): HttpStore['outbox'] {
  const check = (): void => {
    if (state.failure !== null) throw state.failure
  }
  const answer = async <T>(value: T): Promise<T> => {
    check()
    return value
  }
  const find = (id: string): Delivery => {
    check()
    if (id === theDeliveryId) return theDelivery
    throw new NotFoundError('delivery_not_found', `there is no delivery ${id}`)
  }
  const change = (verb: string, request: unknown, actor: string, once: IdempotencyKey | null) => {
    check()
    state.changes.push({ verb, request, actor, once: once ?? undefined })
  }
  return {
    rules: defaultPublishing,
    async publish(request, once) {
      check()
      if (request.runId !== theRunId) throw new NotFoundError('run_not_found', 'no such run')
      const already = state.changes.some(({ verb }) => verb === 'publish')
      change('publish', request, request.actor, once)
      const { channel, name } = request
      const content = JSON.stringify(request.content)
      return { delivery: { ...theDelivery, channel, name, content }, already }
    },
    async delivery(id) {
      check()
      return id === theDeliveryId ? theDelivery : null
    },
    messageBefore: () => answer(null),
    attemptsOf: () => answer([theAttempt]),
    async list(filter) {
      check()
      state.filters.push(filter)
      return { items: [theDelivery], nextCursor: 'next' }
    },
    async anchorsOf(runs) {
      check()
      return new Map(runs.map(({ id }) => [id, theAnchor]))
    },
    budgets: () => answer([theBudget]),
    async unblock(identity, actor, once) {
      change('unblockIdentity', { identity }, actor, once)
      return theBudget
    },
    async retry(id, actor, once) {
      const found = find(id)
      change('retryDelivery', { id }, actor, once)
      return found
    },
    async retryMany(filter, actor, once) {
      change('retryDeliveries', filter, actor, once)
      return 2
    },
    async skip(id, reason, actor, once) {
      const found = find(id)
      change('skipDelivery', { id, reason }, actor, once)
      return { ...found, status: 'SKIPPED', reason, wait: null, dueAt: null, closedAt: startedAt }
    },
    async confirm(id, providerId, actor, once) {
      const found = find(id)
      change('confirmDelivery', { id, providerId }, actor, once)
      return { ...found, status: 'SENT', wait: null, dueAt: null, closedAt: startedAt }
    },
  }
}
