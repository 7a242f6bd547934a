/**
 * Webhooks into the inbox, many at once, in a fixed number of statements.
 *
 * What must hold: a GUID is stored once, an event is to be processed once, however many deliveries
 * bring it at the same moment and through how many processes; and every arrival is told of.
 *
 * GitHub's times have whole seconds, so the same may happen twice within one and look alike
 * (closed, reopened, closed). Another GUID with the same key is a repeat only if no other event of
 * its pull request came in between; else it is taken in, and GitHub is asked before anything is
 * done.
 */
import type { AuditDraft } from '../../../domain/audit.ts'
import type { InboxEntry } from '../../../domain/inbox.ts'
import type { NewWebhook, ReceivedWebhook } from '../../../store.ts'
import type { BatchAnswer } from '../../sql-store/batcher.ts'
import { LostRace } from '../../driver.ts'
import type { Verb } from '../../sql.ts'
import { insertAudits } from '../../tables/audit-table.ts'
import type { EntryToInsert } from '../../tables/inbox-table.ts'
import {
  entriesByEvent,
  entriesByWebhook,
  giveUpEventKey,
  hasLaterEvent,
  insertBodies,
  insertEntries,
  selectEntry,
} from '../../tables/inbox-table.ts'
import type { VerbContext } from '../context.ts'

/** Whoever received it processes it at once; after this, whoever looks next does. */
const graceMs = 1000

export function* receiveWebhooks(
  context: VerbContext,
  batch: readonly NewWebhook[],
): Verb<BatchAnswer<ReceivedWebhook>[]> {
  const webhooks = firstOfEachGuid(batch)
  const answers = yield* receiveDistinct(context, webhooks)
  return batch.map((webhook) => answers[webhooks.indexOf(webhook)] ?? 'deferred')
}

/** A second one would be taken for new with the first. */
function firstOfEachGuid(batch: readonly NewWebhook[]): readonly NewWebhook[] {
  const guids = new Set<string>()
  return batch.filter(({ webhookId }) => !guids.has(webhookId) && guids.add(webhookId))
}

function* receiveDistinct(
  context: VerbContext,
  webhooks: readonly NewWebhook[],
): Verb<ReceivedWebhook[]> {
  const now = context.now()
  const fresh = yield* insertEntries(
    // In one order everywhere, so that two batches cannot wait for each other, whether over a GUID
    // or over an event. (A batch has one webhook of each lane, so this does not change in which
    // order a lane's came.)
    webhooks
      .toSorted((a, b) => (insertOrder(a) < insertOrder(b) ? -1 : 1))
      .map((webhook) => toInsert(context, webhook, now)),
  )
  const byWebhook = new Map(fresh.map((entry) => [entry.webhookId, entry]))
  const known = webhooks.filter(({ webhookId }) => !byWebhook.has(webhookId))
  const repeats = yield* receiveRepeats(context, known, now)
  const answers = webhooks.map((webhook): ReceivedWebhook => {
    const entry = byWebhook.get(webhook.webhookId)
    if (entry !== undefined) return { arrived: 'new', entry, storedId: entry.id }
    const repeat = repeats.get(webhook.webhookId)
    if (repeat === undefined) throw new LostRace('a webhook is neither new nor known')
    return repeat.answer
  })
  const stored = [...fresh, ...[...repeats.values()].flatMap(({ added }) => added ?? [])]
  const bodies = new Map(webhooks.map(({ webhookId, body }) => [webhookId, body]))
  yield* insertBodies(
    stored.flatMap(({ arrival, webhookId }) => {
      const body = bodies.get(webhookId)
      return body === undefined ? [] : [{ arrival, body }]
    }),
  )
  yield* insertAudits(
    answers.map((answer, i) => auditOf(answer, webhooks[i])),
    now,
  )
  return answers
}

/** By event first: two GUIDs can be one event, but a GUID is never two. */
const insertOrder = ({ eventKey, webhookId }: NewWebhook): string =>
  `${eventKey ?? ''} ${webhookId}`

interface Repeat {
  readonly answer: ReceivedWebhook
  /** The row of another GUID for a known event. */
  readonly added: InboxEntry | null
}

function* receiveRepeats(
  context: VerbContext,
  webhooks: readonly NewWebhook[],
  now: number,
): Verb<Map<string, Repeat>> {
  const repeats = new Map<string, Repeat>()
  for (const entry of yield* entriesByWebhook(webhooks.map(({ webhookId }) => webhookId))) {
    const answer = { arrived: 'again', entry: yield* firstOf(entry), storedId: entry.id } as const
    repeats.set(entry.webhookId, { answer, added: null })
  }
  const others = webhooks.filter(({ webhookId }) => !repeats.has(webhookId))
  const keys = others.flatMap(({ eventKey }) => (eventKey === null ? [] : [eventKey]))
  const firsts = yield* entriesByEvent(keys)
  for (const webhook of others) {
    const first = firsts.get(webhook.eventKey ?? '')
    // Not in the way any more: purged or rolled back since our insert met it.
    if (first === undefined) throw new LostRace('what was in the way of a webhook is gone')
    repeats.set(webhook.webhookId, yield* receiveLike(context, webhook, first, now))
  }
  return repeats
}

/** It looks like an event that is known: told again, or the same happened again. */
function* receiveLike(
  context: VerbContext,
  webhook: NewWebhook,
  first: InboxEntry,
  now: number,
): Verb<Repeat> {
  const mayBeNew = yield* hasLaterEvent(first)
  // Another process took one in a moment ago: then that one is what this is held against.
  if (mayBeNew && !(yield* giveUpEventKey(first))) throw new LostRace('its like came just now')
  const form = mayBeNew ? { needsLook: true } : { duplicateOf: first.id }
  const [added] = yield* insertEntries([toInsert(context, webhook, now, form)])
  if (added === undefined) throw new LostRace('another process stored this webhook')
  const answer: ReceivedWebhook = mayBeNew
    ? { arrived: 'new', entry: added, storedId: added.id }
    : { arrived: 'same-event', entry: first, storedId: added.id }
  return { answer, added }
}

/** A GUID that brought a known event is answered with what that event led to. */
function* firstOf(entry: InboxEntry): Verb<InboxEntry> {
  if (entry.duplicateOf === null) return entry
  return (yield* selectEntry(entry.duplicateOf)) ?? entry
}

function toInsert(
  context: VerbContext,
  webhook: NewWebhook,
  now: number,
  { duplicateOf = null, needsLook = false }: Form = {},
): EntryToInsert {
  const id = context.newId('inb')
  if (duplicateOf === null) {
    const dueAt = webhook.waits ? now + graceMs : null
    return { id, webhook, duplicateOf, needsLook, now, dueAt }
  }
  const repeat = { ...webhook, decision: 'duplicate', reason: 'same-event', outcomes: [] } as const
  return { id, webhook: repeat, duplicateOf, needsLook, now, dueAt: null }
}

interface Form {
  readonly duplicateOf?: string | null
  readonly needsLook?: boolean
}

function auditOf({ arrived, entry, storedId }: ReceivedWebhook, webhook?: NewWebhook): AuditDraft {
  const { webhookId, event, action, repo, number, sender } = webhook ?? entry
  const about = { webhook_id: webhookId, event, action, repo, number, sender }
  const isCaughtUp = webhook?.caughtUp === true
  const draft = { actor: isCaughtUp ? 'catch-up' : 'github', runId: null, inboxId: entry.id }
  if (arrived === 'again') return { ...draft, type: 'webhook.duplicate', data: about }
  if (arrived === 'same-event') {
    const data = { ...about, reason: 'same-event', stored_as: storedId }
    return { ...draft, type: 'webhook.duplicate', data }
  }
  const { decision, reason } = entry
  if (isCaughtUp) {
    const { answered = null } = webhook
    const decided = {
      decision,
      ...(reason !== null && { reason }),
      ...(answered !== null && { answered }),
    }
    return { ...draft, type: 'webhook.caught_up', data: { ...about, ...decided } }
  }
  if (decision === 'ignored')
    return { ...draft, type: 'webhook.ignored', data: { ...about, reason } }
  const data = { ...about, ...(entry.needsLook && { alike: true }) }
  return { ...draft, type: 'webhook.received', data }
}
