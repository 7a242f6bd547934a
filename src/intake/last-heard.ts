/** What was last heard of a pull request, as far as the inbox remembers. */
import type { CatchUpStore } from '../catch-up-store.ts'
import type { Store } from '../store.ts'
import { unpackBody } from './packed-body.ts'
import { parsePayload } from './parse-payload.ts'
import type { Heard } from './seen-pull.ts'
import { laneOf, readEvent, reconcileEvent, type WebhookEvent } from './webhook-event.ts'

export type HeardStore = Pick<Store, 'listInbox' | 'webhookBody'> & {
  readonly catchUp: Pick<CatchUpStore, 'heardHeads'>
}

/** Events arrive out of order, but not by this many. */
const readMax = 20

export async function lastHeard(store: HeardStore, seen: WebhookEvent): Promise<Heard> {
  const lane = laneOf(seen)
  const [made] = await store.catchUp.heardHeads({ lane, made: true }, 1)
  return { last: await lastEvent(store, lane), headSha: made?.headSha ?? null }
}

/** Whatever it told. Not by the name: that may have been another repository's before. */
export async function lastEvent(store: HeardStore, lane: string): Promise<WebhookEvent | null> {
  const told = await Promise.all(
    ['pull_request', reconcileEvent].map((event) =>
      store.listInbox({ lane, event }, { limit: readMax, cursor: null }),
    ),
  )
  const [newest] = told
    .flatMap(({ items }) => items)
    .toSorted((a, b) => (b.eventAt ?? 0) - (a.eventAt ?? 0) || b.arrival - a.arrival)
  if (newest === undefined) return null
  const stored = await store.webhookBody(newest.arrival)
  if (stored === null) return null
  return readEvent(newest.webhookId, newest.event, parsePayload(unpackBody(stored.body)))
}
