/**
 * Follows a server's audit by its event stream.
 *
 * What must hold: every event comes once and in order, also if a connection is lost or the server
 * restarts. The stream's id of an event is its place in the order. A new connection names the last
 * place that was seen, and gets the events after it.
 */
import type { Scheduler } from '../../scheduler.ts'
import { delay } from '../../scheduler.ts'
import { UnreachableError } from '../failure.ts'
import type { ServerClient } from '../connection/server-client.ts'
import { readEvents } from './event-stream.ts'
import type { AuditQuery, AuditView } from '../../contract.ts'
import type { FollowRequest, Listed } from './operations.ts'

export interface StreamWorld {
  readonly scheduler: Scheduler
  /** Called with true when the server does not answer, and with false when it does. */
  readonly onAway: (away: boolean) => void
}

const pauseMsMin = 500
const pauseMsMax = 10_000

export async function* followStream(
  client: ServerClient,
  world: StreamWorld,
  request: FollowRequest,
  listAudit: (query: AuditQuery) => Promise<Listed<AuditView>>,
): AsyncGenerator<AuditView> {
  const { filter, last, signal } = request
  // The place is read first, so that everything that happens after it is streamed.
  const newest = await listAudit({ limit: 1 })
  let place = newest.items[0]?.order ?? 0
  if (last > 0) {
    const { items } = await listAudit({ ...filter, limit: last })
    yield* items.filter(({ order }) => order <= place).toReversed()
  }
  let pauseMs = pauseMsMin
  while (!signal.aborted) {
    const response = await connect(client, world, request, place)
    if (response !== null) {
      for await (const { id, data } of readEvents(response, signal)) {
        pauseMs = pauseMsMin
        place = id === null ? place : Number(id)
        if (data !== null) yield JSON.parse(data) as AuditView
      }
    }
    await delay(world.scheduler, pauseMs, signal)
    pauseMs = Math.min(pauseMsMax, pauseMs * 2)
  }
}

/** Returns null while the server does not answer. Throws if the server refuses. */
async function connect(
  client: ServerClient,
  world: StreamWorld,
  { filter, signal }: FollowRequest,
  place: number,
): Promise<Response | null> {
  try {
    const headers = { accept: 'text/event-stream', 'last-event-id': String(place) }
    const response = await client.open({ path: '/v1/audit/stream', query: filter, headers, signal })
    world.onAway(false)
    return response
  } catch (error) {
    if (!(error instanceof UnreachableError)) throw error
    if (!signal.aborted) world.onAway(true)
    return null
  }
}
