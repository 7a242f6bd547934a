/**
 * Stores many webhooks at once, in a fixed number of statements.
 *
 * What must hold: a GUID is stored once and an event is processed once, even if several processes
 * receive it at the same moment. Every arrival gets an audit row.
 *
 * GitHub's times are whole seconds, so two different events can look the same (closed, reopened,
 * closed within a second). Another GUID with the same key is a repeat only if no other event of its
 * pull request came in between. Otherwise it is stored, and GitHub is asked before anything is
 * done.
 */
import type { AuditDraft } from '../../../domain/audit.ts'
import type { InboxEntry } from '../../../domain/inbox.ts'
import type { NewWebhook, ReceivedWebhook } from '../../../store.ts'
import type { BatchAnswer } from '../../sql-store/batcher.ts'
import { LostRace } from '../../driver.ts'
import type { Verb } from '../../sql.ts'
import { insertDecisions, webhookCauses } from '../../tables/audit-table.ts'
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

/** The process that received it processes it at once; after this time any process may. */
const graceMs = 1000

export function* receiveWebhooks(
  context: VerbContext,
  batch: readonly NewWebhook[],
): Verb<BatchAnswer<ReceivedWebhook>[]> {
  const webhooks = firstOfEachGuid(batch)
  const answers = yield* receiveDistinct(context, webhooks)
  return batch.map((webhook) => answers[webhooks.indexOf(webhook)] ?? 'deferred')
}

/** Two with one GUID in a batch would both look new. */
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
    // Sorted, so that two batches cannot wait for each other's rows. (A batch has one webhook of
    // each lane, so the order of arrival within a lane does not change.)
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
  const again = answers.filter(({ arrived }) => arrived !== 'new').map(({ entry }) => entry.id)
  const causes = yield* webhookCauses([...new Set(again)])
  yield* insertDecisions(
    answers.map((answer, i) => {
      const causeId = causes.get(answer.entry.id)?.arrivedId ?? null
      return { drafts: [auditOf(answer, webhooks[i])], causeId }
    }),
    now,
  )
  return answers
}

/** By event first: one event can have two GUIDs, but a GUID never has two events. */
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
    // The row that blocked our insert was purged or rolled back since.
    if (first === undefined) throw new LostRace('the row that blocked a webhook is gone')
    repeats.set(webhook.webhookId, yield* receiveLike(context, webhook, first, now))
  }
  return repeats
}

/** It looks like a known event: a repeat, or the same happened again. */
function* receiveLike(
  context: VerbContext,
  webhook: NewWebhook,
  first: InboxEntry,
  now: number,
): Verb<Repeat> {
  const mayBeNew = yield* hasLaterEvent(first)
  // Another process just stored an equal event: compare with that one instead.
  if (mayBeNew && !(yield* giveUpEventKey(first)))
    throw new LostRace('an equal event was stored meanwhile')
  const form = mayBeNew ? { needsLook: true } : { duplicateOf: first.id }
  const [added] = yield* insertEntries([toInsert(context, webhook, now, form)])
  if (added === undefined) throw new LostRace('another process stored this webhook')
  const answer: ReceivedWebhook = mayBeNew
    ? { arrived: 'new', entry: added, storedId: added.id }
    : { arrived: 'same-event', entry: first, storedId: added.id }
  return { answer, added }
}

/** The first entry of the event, whose outcome is the answer. */
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
