/**
 * Follows a server's audit by its event stream.
 *
 * What must hold: every event is given once and in order, through lost connections and restarted
 * servers. Each event has its place in the order as the stream's id; whoever connects again names
 * the last place seen and is given what came after it.
 */
import type { Scheduler } from '../../scheduler.ts'
import { delay } from '../../scheduler.ts'
import { UnreachableError } from '../failure.ts'
import type { ServerClient } from '../server-client.ts'
import { readEvents } from './event-stream.ts'
import type { AuditPage, AuditView, FollowRequest, Listed } from './operations.ts'

export interface StreamWorld {
  readonly scheduler: Scheduler
  /** Told once when the server is away, and once when it is back. */
  readonly onAway: (away: boolean) => void
}

const pauseMsMin = 500
const pauseMsMax = 10_000

export async function* followStream(
  client: ServerClient,
  world: StreamWorld,
  request: FollowRequest,
  listAudit: (query: AuditPage) => Promise<Listed<AuditView>>,
): AsyncGenerator<AuditView> {
  const { filter, last, signal } = request
  const connect = (place: string | null): Promise<Response> =>
    client.open({
      path: '/v1/audit/stream',
      query: filter,
      headers: { accept: 'text/event-stream', ...(place !== null && { 'last-event-id': place }) },
      signal,
    })
  // Connected before the latest are listed: what happens in between is in both, and left out once.
  let response: Response | null = await connect(null)
  const seen = new Set<number>()
  if (last > 0) {
    const { items } = await listAudit({ ...filter, limit: last })
    for (const item of items.toReversed()) {
      seen.add(item.id)
      yield item
    }
  }
  let place: string | null = null
  let pauseMs = pauseMsMin
  while (!signal.aborted) {
    if (response !== null) {
      for await (const event of readEvents(response, signal)) {
        pauseMs = pauseMsMin
        place = event.id ?? place
        if (event.data === null) continue
        const item = JSON.parse(event.data) as AuditView
        if (!seen.delete(item.id)) yield item
      }
    }
    await delay(world.scheduler, pauseMs, signal)
    pauseMs = Math.min(pauseMsMax, pauseMs * 2)
    response = await connectAgain(() => connect(place), world, signal)
  }
}

/** Null while the server is away; a refusal is no absence and ends it. */
async function connectAgain(
  connect: () => Promise<Response>,
  world: StreamWorld,
  signal: AbortSignal,
): Promise<Response | null> {
  if (signal.aborted) return null
  try {
    const response = await connect()
    world.onAway(false)
    return response
  } catch (error) {
    if (!(error instanceof UnreachableError)) throw error
    world.onAway(true)
    return null
  }
}
