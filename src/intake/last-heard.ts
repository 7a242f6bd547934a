/** What was last heard of a pull request, as far as the inbox remembers. */
import type { CatchUpStore } from '../store/catch-up-store.ts'
import type { InboxEntry } from '../domain/inbox.ts'
import type { StorePart } from '../store.ts'
import { parsePayload, unpackBody } from './parse-payload.ts'
import { baseRefOf, type Heard } from './seen-pull.ts'
import { laneOf, readEvent, reconcileEvent, type WebhookEvent } from './webhook-event.ts'

export type HeardStore = StorePart<{ inbox: 'list' | 'body' }> & {
  readonly catchUp: Pick<CatchUpStore, 'lastHeard' | 'wasStateHeard'>
}

/** Events arrive out of order, but not by this many. */
const readMax = 20

/** What says of a pull request that it is a draft, or none any more. */
const draftActions = ['opened', 'ready_for_review', 'converted_to_draft']

export async function lastHeard(store: HeardStore, seen: WebhookEvent): Promise<Heard> {
  const lane = laneOf(seen)
  const last = await readEntry(store, await newestOf(store, lane))
  // A label heard after a change of the base tells of the new one, but nothing acted on that.
  const made = await readEntry(store, await store.catchUp.lastHeard({ lane, made: true }))
  return {
    last,
    headSha: made?.head?.headSha ?? null,
    baseRef: made && baseRefOf(made.payload),
    isOpen: await store.catchUp.wasStateHeard(lane, 'open'),
    wasDraft: await wasDraft(store, lane, [made, last]),
  }
}

/** Not by the name: that may have been another repository's before. */
export async function wasClosingHeard(store: HeardStore, lane: string): Promise<boolean> {
  return (await store.catchUp.wasStateHeard(lane, 'closed')) === true
}

/** By the last event that made it a draft, or ready, unless one since then has it as a draft. */
async function wasDraft(
  store: HeardStore,
  lane: string,
  others: readonly (WebhookEvent | null)[],
): Promise<boolean> {
  const lastDraftEvent = await readEntry(
    store,
    await store.catchUp.lastHeard({ lane, actions: draftActions }),
  )
  const lastDraftAt = lastDraftEvent?.eventAt ?? -1
  if (others.some((event) => event?.draft === true && (event.eventAt ?? 0) > lastDraftAt))
    return true
  return lastDraftEvent?.action === 'opened'
    ? lastDraftEvent.draft
    : lastDraftEvent?.action === 'converted_to_draft'
}

async function newestOf(store: HeardStore, lane: string): Promise<InboxEntry | null> {
  const heard = await Promise.all(
    ['pull_request', reconcileEvent].map((event) =>
      store.inbox.list({ lane, event }, { limit: readMax, cursor: null }),
    ),
  )
  const [newest] = heard
    .flatMap(({ items }) => items)
    .toSorted((a, b) => (b.eventAt ?? 0) - (a.eventAt ?? 0) || b.arrival - a.arrival)
  return newest ?? null
}

async function readEntry(
  store: HeardStore,
  entry: InboxEntry | null,
): Promise<WebhookEvent | null> {
  const stored = entry === null ? null : await store.inbox.body(entry.arrival)
  if (entry === null || stored === null) return null
  return readEvent(entry.webhookId, entry.event, parsePayload(unpackBody(stored.body)))
}
