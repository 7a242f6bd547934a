/** What the webhooks in the inbox last said about a pull request. */
import type { CatchUpStore } from '../../store/catch-up-store.ts'
import type { InboxEntry } from '../../domain/inbox.ts'
import type { StorePart } from '../../store.ts'
import { parsePayload, unpackBody } from '../events/payload.ts'
import { baseRefOf, type ReceivedState } from './missed-events.ts'
import { laneOf, readEvent, reconcileEvent, type WebhookEvent } from '../events/webhook-event.ts'

export type ReceivedStore = StorePart<{ inbox: 'list' | 'body' }> & {
  readonly catchUp: Pick<CatchUpStore, 'lastEvent' | 'hasStateEvent'>
}

/** Events arrive out of order, but never this far out. */
const readMax = 20

/** Actions that say whether a pull request is a draft. */
const draftActions = ['opened', 'ready_for_review', 'converted_to_draft']

export async function lastReceived(
  store: ReceivedStore,
  event: WebhookEvent,
): Promise<ReceivedState> {
  const lane = laneOf(event)
  const last = await readEntry(store, await newestOf(store, lane))
  // A label event after a change of base names the new base, but no run started for that change.
  const headEvent = await readEntry(store, await store.catchUp.lastEvent({ lane, made: true }))
  return {
    last,
    headSha: headEvent?.head?.headSha ?? null,
    baseRef: headEvent && baseRefOf(headEvent.payload),
    isOpen: await store.catchUp.hasStateEvent(lane, 'open'),
    wasDraft: await wasDraft(store, lane, [headEvent, last]),
  }
}

/** By lane, not by name: another repository may have had the name before. */
export async function wasClosingReceived(store: ReceivedStore, lane: string): Promise<boolean> {
  return (await store.catchUp.hasStateEvent(lane, 'closed')) === true
}

/** By the last event that changed it, unless a later event shows a draft. */
async function wasDraft(
  store: ReceivedStore,
  lane: string,
  others: readonly (WebhookEvent | null)[],
): Promise<boolean> {
  const lastDraftEvent = await readEntry(
    store,
    await store.catchUp.lastEvent({ lane, actions: draftActions }),
  )
  const lastDraftAt = lastDraftEvent?.eventAt ?? -1
  if (others.some((event) => event?.draft === true && (event.eventAt ?? 0) > lastDraftAt))
    return true
  return lastDraftEvent?.action === 'opened'
    ? lastDraftEvent.draft
    : lastDraftEvent?.action === 'converted_to_draft'
}

async function newestOf(store: ReceivedStore, lane: string): Promise<InboxEntry | null> {
  const received = await Promise.all(
    ['pull_request', reconcileEvent].map((event) =>
      store.inbox.list({ lane, event }, { limit: readMax, cursor: null }),
    ),
  )
  const [newest] = received
    .flatMap(({ items }) => items)
    .toSorted((a, b) => (b.eventAt ?? 0) - (a.eventAt ?? 0) || b.arrival - a.arrival)
  return newest ?? null
}

async function readEntry(
  store: ReceivedStore,
  entry: InboxEntry | null,
): Promise<WebhookEvent | null> {
  const stored = entry === null ? null : await store.inbox.body(entry.arrival)
  if (entry === null || stored === null) return null
  return readEvent(entry.webhookId, entry.event, parsePayload(unpackBody(stored.body)))
}
