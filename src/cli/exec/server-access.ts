/** Runs through a server. The server publishes, and the command talks to it directly. */
import type { ClaimedView, LeasedView, RunView } from '../../contract/runs.ts'
import type { ServerClient } from '../connection/server-client.ts'
import type { RunAccess } from './run-access.ts'

export function serverAccess(client: ServerClient): RunAccess {
  const { server } = client
  const post = (path: string, body: object, more: object = {}): Promise<unknown> =>
    client.ask({ method: 'POST', path, body, ...more })
  return {
    place: server,
    claim: async ({ sent }, leaseMs, key) => {
      const answer = await post('/v1/runs', { ...sent, lease_ms: leaseMs }, { idempotencyKey: key })
      return checked(server, answer, 'reason') as ClaimedView
    },
    lease: async ({ runId, worker, leaseMs, waitMs }, key, signal) => {
      const timing = { lease_ms: leaseMs, wait_ms: waitMs }
      const body = { worker, run_id: runId, ...timing, as_caller: true }
      const answer = await post('/v1/runs/lease', body, { idempotencyKey: key, signal })
      return answer === null ? null : (checked(server, answer, 'run_token') as LeasedView)
    },
    run: async (id) => {
      const answer = await client.ask({ method: 'GET', path: `/v1/runs/${id}` })
      return checked(server, answer, 'state') as RunView
    },
    heartbeat: async ({ runId, leaseToken, leaseMs, waitMs }, signal) => {
      const body = { lease_token: leaseToken, lease_ms: leaseMs, wait_ms: waitMs }
      const answer = await post(`/v1/runs/${runId}/heartbeat`, body, { signal })
      checked(server, answer, 'expires_at')
    },
    complete: async (id, body) =>
      checked(server, await post(`/v1/runs/${id}/complete`, body), 'state') as RunView,
    cancel: async (id) =>
      checked(server, await post(`/v1/runs/${id}/cancel`, {}), 'state') as RunView,
    open: () => Promise.resolve(server),
    publishRest: () => Promise.resolve([]),
    close: () => Promise.resolve(),
  }
}

/** Checks only enough to notice that the answer is not from a Holdfast server. */
function checked(server: string, answer: unknown, field: string): unknown {
  const value = (answer ?? {}) as Readonly<Record<string, unknown>>
  if (typeof value[field] === 'string') return answer
  throw new Error(`${server} gave an unexpected answer; is it a Holdfast server?`)
}
