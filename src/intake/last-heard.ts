/** The last that was heard of a pull request, as far as the inbox remembers. */
import type { Store } from '../store.ts'
import { unpackBody } from './packed-body.ts'
import { parsePayload } from './parse-payload.ts'
import { readEvent, reconcileEvent, type WebhookEvent } from './webhook-event.ts'

export type HeardStore = Pick<Store, 'listInbox' | 'webhookBody'>

/** Events arrive out of order, but not by this many. */
const readMax = 20

export async function lastHeard(
  store: HeardStore,
  repo: string,
  number: number,
): Promise<WebhookEvent | null> {
  const told = await Promise.all(
    ['pull_request', reconcileEvent].map((event) =>
      store.listInbox({ repo, number, event }, { limit: readMax, cursor: null }),
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
