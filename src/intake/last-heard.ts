/** What was last heard of a pull request, as far as the inbox remembers. */
import type { CatchUpStore } from '../catch-up-store.ts'
import type { InboxEntry } from '../domain/inbox.ts'
import type { Store } from '../store.ts'
import { unpackBody } from './packed-body.ts'
import { parsePayload } from './parse-payload.ts'
import { baseRefOf, type Heard } from './seen-pull.ts'
import {
  bringsHead,
  laneOf,
  makesHead,
  readEvent,
  reconcileEvent,
  type WebhookEvent,
} from './webhook-event.ts'

export type HeardStore = Pick<Store, 'listInbox' | 'webhookBody'> & {
  readonly catchUp: Pick<CatchUpStore, 'heardHeads'>
}

/** Events arrive out of order, but not by this many. */
const readMax = 20

export async function lastHeard(store: HeardStore, seen: WebhookEvent): Promise<Heard> {
  const lane = laneOf(seen)
  const [made] = await store.catchUp.heardHeads({ lane, made: true }, 1)
  const told = await newestFirst(store, lane)
  return {
    last: await readEntry(store, told[0]),
    headSha: made?.headSha ?? null,
    baseRef: await lastBaseRef(store, told),
  }
}

/** Whatever it told. Not by the name: that may have been another repository's before. */
export async function lastEvent(store: HeardStore, lane: string): Promise<WebhookEvent | null> {
  const [newest] = await newestFirst(store, lane)
  return await readEntry(store, newest)
}

/** A label heard after a change of the base tells of the new one, but nothing acted on that. */
async function lastBaseRef(store: HeardStore, told: readonly InboxEntry[]): Promise<string | null> {
  for (const entry of told) {
    if (!bringsHead({ name: 'pull_request', action: entry.action })) continue
    const event = await readEntry(store, entry)
    if (event !== null && makesHead(event)) return baseRefOf(event.payload)
  }
  return null
}

async function newestFirst(store: HeardStore, lane: string): Promise<readonly InboxEntry[]> {
  const told = await Promise.all(
    ['pull_request', reconcileEvent].map((event) =>
      store.listInbox({ lane, event }, { limit: readMax, cursor: null }),
    ),
  )
  return told
    .flatMap(({ items }) => items)
    .toSorted((a, b) => (b.eventAt ?? 0) - (a.eventAt ?? 0) || b.arrival - a.arrival)
}

async function readEntry(
  store: HeardStore,
  entry: InboxEntry | undefined,
): Promise<WebhookEvent | null> {
  const stored = entry === undefined ? null : await store.webhookBody(entry.arrival)
  if (entry === undefined || stored === null) return null
  return readEvent(entry.webhookId, entry.event, parsePayload(unpackBody(stored.body)))
}
