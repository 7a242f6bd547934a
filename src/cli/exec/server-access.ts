/** Runs through a server. The server publishes, and the command talks to it directly. */
import type { AuditList } from '../../contract/audit.ts'
import type { ClaimedView, LeasedView, RunView } from '../../contract/runs.ts'
import {
  foreignAnswer,
  type ServerClient,
  type ServerRequest,
} from '../connection/server-client.ts'
import { RefusedError, UnreachableError } from '../failure.ts'
import type { RunAccess } from './run-access.ts'

/** A claim that gets no answer is repeated, so it is not waited for as long as other requests. */
const claimAnswerMs = 10_000

export function serverAccess(client: ServerClient): RunAccess {
  const { server } = client
  const post = (path: string, body: object, more: object = {}): Promise<unknown> =>
    ask(client, { method: 'POST', path, body, ...more })
  const run = async (id: string): Promise<RunView> => {
    const answer = await ask(client, { method: 'GET', path: `/v1/runs/${id}` })
    return checked(server, answer, isRun) as RunView
  }
  return {
    place: server,
    claim: async ({ sent }, leaseMs, key) => {
      const body = { ...sent, lease_ms: leaseMs }
      const answer = await post('/v1/runs', body, { idempotencyKey: key, answerMs: claimAnswerMs })
      return checked(server, answer, isClaimed) as ClaimedView
    },
    lease: async ({ runId, worker, leaseMs, waitMs }, key) => {
      const timing = { lease_ms: leaseMs, wait_ms: waitMs }
      const body = { worker, run_id: runId, ...timing, as_caller: true }
      const answer = await post('/v1/runs/lease', body, { idempotencyKey: key })
      return answer === null ? null : (checked(server, answer, isLeased) as LeasedView)
    },
    run,
    audit: async (id) => {
      const answer = await ask(client, { method: 'GET', path: `/v1/runs/${id}/audit?limit=1000` })
      return (checked(server, answer, isList) as AuditList).items
    },
    heartbeat: async ({ runId, leaseToken, leaseMs, waitMs, answerMs }, signal) => {
      const body = { lease_token: leaseToken, lease_ms: leaseMs, wait_ms: waitMs }
      const answer = await post(`/v1/runs/${runId}/heartbeat`, body, { signal, answerMs })
      checked(server, answer, (renewed) => isText(renewed['expires_at']))
    },
    complete: async (id, body) =>
      checked(server, await post(`/v1/runs/${id}/complete`, body), isRun) as RunView,
    // A worker's token may not cancel, and nobody can tell an admin who does it from a person.
    giveUp: run,
    open: () => Promise.resolve(server),
    publishRest: () => Promise.resolve([]),
    close: () => Promise.resolve(),
  }
}

/** What is not Holdfast's own answer may be a proxy's, and Holdfast itself may answer later. */
async function ask(client: ServerClient, request: ServerRequest): Promise<unknown> {
  try {
    return await client.ask(request)
  } catch (error) {
    const isForeign = error instanceof RefusedError && error.code === foreignAnswer
    throw isForeign ? notHoldfast(error.message) : error
  }
}

function notHoldfast(message: string): UnreachableError {
  const hint = 'Is it the address of a Holdfast server? A proxy in between may have answered.'
  return new UnreachableError('unreachable', message, { hint })
}

/** Checks enough to use the answer, and to notice that it is not from a Holdfast server. */
function checked(server: string, answer: unknown, isRight: (answer: Fields) => boolean): unknown {
  if (isObject(answer) && isRight(answer)) return answer
  throw notHoldfast(`${server} gave an unexpected answer`)
}

type Fields = Readonly<Record<string, unknown>>

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}

const isText = (value: unknown): boolean => typeof value === 'string'

const isRun = (value: unknown): boolean =>
  isObject(value) &&
  [value['id'], value['key'], value['type'], value['subject'], value['state']].every(isText) &&
  Number.isInteger(value['round'])

const isList = ({ items }: Fields): boolean => Array.isArray(items) && items.every(isObject)

const isLease = (value: unknown): boolean => isObject(value) && isText(value['token'])

const isClaimed = ({ reason, should_process: process, run_key: key, ...more }: Fields): boolean =>
  typeof process === 'boolean' &&
  [reason, key].every(isText) &&
  (process ? isLeased(more) : more['run'] === null || isRun(more['run']))

const isLeased = ({ run, lease, run_token: token }: Fields): boolean =>
  isRun(run) && isLease(lease) && isText(token)
