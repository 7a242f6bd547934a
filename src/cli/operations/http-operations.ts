/** The operations through a server. What it answers is shown as it is. */
import { timeView } from '../../contract/answers.ts'
import type { ServerClient } from '../connection/server-client.ts'
import { followStream, type StreamWorld } from './audit-stream.ts'
import type { AuditQuery, BudgetList, DecidedStepView } from '../../contract.ts'
import type { Listed, Operations } from './operations.ts'

export function httpOperations(client: ServerClient, world: StreamWorld): Operations {
  const one = async <T>(answer: Promise<unknown>, field: string): Promise<T> =>
    checked(client, await answer, (value) => typeof value[field] === 'string') as T
  const list = async <T>(path: string, query: Query): Promise<Listed<T>> =>
    checked(client, await client.ask({ method: 'GET', path, query }), (value) =>
      Array.isArray(value['items']),
    ) as Listed<T>
  const decided = async (answer: Promise<unknown>): Promise<DecidedStepView> =>
    checked(client, await answer, ({ step, run }) => [step, run].every(isObject)) as DecidedStepView
  const post = (path: string, body?: object): Promise<unknown> =>
    client.ask({ method: 'POST', path, ...(body !== undefined && { body }) })
  return {
    listRuns: (query) => list('/v1/runs', query),
    run: (id) => one(client.ask({ method: 'GET', path: `/v1/runs/${id}` }), 'id'),
    runAudit: (id, page) => list(`/v1/runs/${id}/audit`, page),
    rerunRun: (id) => one(post(`/v1/runs/${id}/rerun`), 'reason'),
    cancelRun: (id) => one(post(`/v1/runs/${id}/cancel`), 'id'),

    listSteps: (id, query) => list(`/v1/runs/${id}/steps`, query),
    confirmStep: (id, name, body) => decided(post(`/v1/runs/${id}/steps/${name}/confirm`, body)),
    repeatStep: (id, name) => decided(post(`/v1/runs/${id}/steps/${name}/repeat`)),
    failStep: (id, name, body) => decided(post(`/v1/runs/${id}/steps/${name}/fail`, body)),

    listAudit: (query) => list('/v1/audit', auditQueryText(query)),
    followAudit: (request) =>
      followStream(client, world, request, (query) => list('/v1/audit', auditQueryText(query))),

    listInbox: (query) => list('/v1/inbox', query),
    inboxEntry: (id) => one(client.ask({ method: 'GET', path: `/v1/inbox/${id}` }), 'id'),
    replayInboxEntry: (id) => one(post(`/v1/inbox/${id}/replay`), 'id'),

    listDeliveries: (query) => list('/v1/deliveries', query),
    delivery: (id) => one(client.ask({ method: 'GET', path: `/v1/deliveries/${id}` }), 'id'),
    retryDelivery: (id) => one(post(`/v1/deliveries/${id}/retry`), 'id'),
    retryDeliveries: async (filter) =>
      checked(client, await post('/v1/deliveries/retry', filter), (value) =>
        Number.isInteger(value['count']),
      ) as { readonly count: number },
    skipDelivery: (id, reason) => one(post(`/v1/deliveries/${id}/skip`, { reason }), 'id'),
    confirmDelivery: (id, body) => one(post(`/v1/deliveries/${id}/confirm`, body), 'id'),
    budgets: async () => {
      const { items } = await list<BudgetList['items'][number]>('/v1/budgets', {})
      return { items: [...items] }
    },

    unblockIdentity: (identity) =>
      one(post(`/v1/budgets/${encodeURIComponent(identity)}/unblock`), 'identity'),

    why: (q) => one(client.ask({ method: 'GET', path: '/v1/why', query: { q } }), 'text'),

    createToken: (body) => one(client.ask({ method: 'POST', path: '/v1/tokens', body }), 'token'),
    listTokens: (page) => list('/v1/tokens', page),
    deleteToken: async (id) => {
      await client.ask({ method: 'DELETE', path: `/v1/tokens/${id}` })
    },

    close: () => Promise.resolve(),
  }
}

type Query = Readonly<Record<string, string | number | undefined>>

function auditQueryText({ since, until, ...others }: AuditQuery): Query {
  return {
    ...others,
    since: since === undefined ? undefined : timeView(since),
    until: until === undefined ? undefined : timeView(until),
  }
}

/** Checks only enough to notice that the answer is not from a Holdfast server. */
function checked(
  { server }: ServerClient,
  answer: unknown,
  isAnswer: (value: Readonly<Record<string, unknown>>) => boolean,
): unknown {
  if (isObject(answer) && isAnswer(answer)) return answer
  throw new Error(`${server} gave an unexpected answer; is it a Holdfast server?`)
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null
