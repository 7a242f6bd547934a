/**
 * Tables `inbox` and `inbox_body`: webhooks and their raw bodies. An entry waits while its `due_at`
 * is set. Polling reads only the partial indexes over `due_at`.
 */
import {
  repositoryKeyOf,
  type EventHead,
  type InboxEntry,
  type TypeOutcome,
} from '../../domain/inbox.ts'
import type { LaneEventFilter } from '../../store/catch-up-store.ts'
import type { InboxBacklog, NewWebhook, WebhookBody } from '../../store.ts'
import type { Param, Sql, Verb } from '../sql.ts'
import { inPieces, join, padded, raw, selectValues, sql, tuples } from '../sql.ts'
import { table } from './table.ts'

type StoredEntry = Omit<InboxEntry, 'outcomes'> & { readonly outcomes: string }

const inbox = table<StoredEntry>(
  'inbox',
  [
    'arrival',
    'id',
    'webhookId',
    'event',
    'action',
    'repo',
    'repoId',
    'number',
    'sender',
    'lane',
    'eventAt',
    'prState',
    'needsLook',
    'state',
    'decision',
    'reason',
    'outcomes',
    'duplicateOf',
    'receivedAt',
    'processedAt',
    'dueAt',
    'tries',
    'lastError',
  ],
  { flags: ['needsLook'] },
)

function decodeEntry(values: readonly unknown[]): InboxEntry {
  const stored = inbox.decode(values)
  return { ...stored, outcomes: JSON.parse(stored.outcomes) as readonly TypeOutcome[] }
}

export interface EntryToInsert {
  readonly id: string
  readonly webhook: NewWebhook
  readonly duplicateOf: string | null
  readonly needsLook: boolean
  readonly now: number
  readonly dueAt: number | null
}

/** Answers the entries that were new, by GUID and by event, in the order of arrival. */
export function* insertEntries(entries: readonly EntryToInsert[]): Verb<InboxEntry[]> {
  const arrivals = new Map<string, number>()
  for (const piece of inPieces(entries.map(encodeNew))) {
    const rows =
      yield sql`INSERT INTO inbox (event_key, head_sha, makes_head, party, ${inbox.columnsButKey})
      VALUES ${tuples(piece)} ON CONFLICT DO NOTHING RETURNING id, arrival`
    for (const row of rows) arrivals.set(row['id'] as string, Number(row['arrival']))
  }
  return entries.flatMap((entry) => {
    const arrival = arrivals.get(entry.id)
    return arrival === undefined ? [] : [{ ...newEntry(entry), arrival }]
  })
}

function encodeNew(entry: EntryToInsert): readonly Param[] {
  const { webhook, duplicateOf } = entry
  const { outcomes, ...item } = newEntry(entry)
  const [, ...values] = inbox.encode({ ...item, outcomes: JSON.stringify(outcomes) })
  const { head } = webhook
  const eventKey = duplicateOf === null ? webhook.eventKey : null
  return [
    eventKey,
    head?.sha ?? null,
    head?.isMade === true ? 1 : 0,
    repositoryKeyOf(item),
    ...values,
  ]
}

function newEntry({ id, webhook, duplicateOf, needsLook, now, dueAt }: EntryToInsert): InboxEntry {
  const { body: _body, eventKey: _key, waits: _waits, ...entered } = webhook
  const { caughtUp: _caughtUp, answered: _answered, head: _head, ...facts } = entered
  return {
    ...facts,
    arrival: 0,
    id,
    state: dueAt === null ? 'processed' : 'waiting',
    duplicateOf,
    needsLook,
    receivedAt: now,
    processedAt: dueAt === null ? now : null,
    dueAt,
    tries: 0,
    lastError: null,
  }
}

export function* insertBodies(
  bodies: readonly { readonly arrival: number; readonly body: WebhookBody }[],
): Verb<void> {
  for (const piece of inPieces(bodies)) {
    const rows = tuples(piece.map(({ arrival, body }) => [arrival, body.headers, body.body]))
    yield sql`INSERT INTO inbox_body (arrival, headers, body) VALUES ${rows}`
  }
}

export function* selectEntries(where: Sql): Verb<InboxEntry[]> {
  const rows = yield* selectValues(sql`SELECT ${inbox.columns} FROM inbox WHERE ${where}`)
  return rows.map(decodeEntry)
}

export function* selectEntry(id: string): Verb<InboxEntry | null> {
  const [found] = yield* selectEntries(
    id.startsWith('inb_') ? sql`id = ${id}` : sql`webhook_id = ${id}`,
  )
  return found ?? null
}

export function* entriesByWebhook(webhookIds: readonly string[]): Verb<InboxEntry[]> {
  if (webhookIds.length === 0) return []
  return yield* selectEntries(sql`webhook_id IN (${join(padded(webhookIds))})`)
}

export function* knownWebhooks(webhookIds: readonly string[]): Verb<Set<string>> {
  if (webhookIds.length === 0) return new Set()
  const rows = yield sql`SELECT webhook_id FROM inbox
    WHERE webhook_id IN (${join(padded(webhookIds))})`
  return new Set(rows.map((row) => row['webhook_id'] as string))
}

/** Answers the entry that has each key. */
export function* entriesByEvent(keys: readonly string[]): Verb<Map<string, InboxEntry>> {
  if (keys.length === 0) return new Map()
  const rows = yield* selectValues(sql`SELECT ${inbox.columns}, event_key FROM inbox
    WHERE event_key IN (${join(padded(keys))})`)
  return new Map(rows.map((row) => [row.at(-1) as string, decodeEntry(row)]))
}

/** Whether another event of its pull request came after this one. */
export function* hasLaterEvent({ lane, arrival }: InboxEntry): Verb<boolean> {
  const rows = yield sql`SELECT id FROM inbox WHERE lane = ${lane} AND arrival > ${arrival}
    AND duplicate_of IS NULL LIMIT 1`
  return rows.length > 0
}

/** Events with this key are compared with a later entry from now on. False: it had no key. */
export function* giveUpEventKey({ id }: InboxEntry): Verb<boolean> {
  const rows = yield sql`UPDATE inbox SET event_key = NULL
    WHERE id = ${id} AND event_key IS NOT NULL RETURNING id`
  return rows.length > 0
}

/**
 * An earlier entry of the lane still waits, so it is not this entry's turn. A postponed entry
 * delays nobody: when its turn comes again, it is judged by its event time.
 */
export const earlierWaits =
  raw(`EXISTS (SELECT 1 FROM inbox AS earlier WHERE earlier.lane = inbox.lane
  AND earlier.due_at IS NOT NULL AND earlier.tries = 0 AND earlier.arrival < inbox.arrival)`)

export interface WaitingEntry {
  readonly entry: InboxEntry
  readonly behind: boolean
}

/** Locks the entries that still wait; skips those that another process has locked. */
export function* lockWaiting(ids: readonly string[], lockFree: Sql): Verb<WaitingEntry[]> {
  const rows = yield* selectValues(sql`SELECT ${inbox.columns},
      CASE WHEN ${earlierWaits} THEN 1 ELSE 0 END AS behind
    FROM inbox WHERE id IN (${join(padded(ids))}) AND due_at IS NOT NULL
    ORDER BY arrival ${lockFree}`)
  return rows.map((row) => ({ entry: decodeEntry(row), behind: Number(row.at(-1)) === 1 }))
}

/**
 * The entries that cannot be decided without asking GitHub: an equal event came before, or an event
 * of the same second contradicts whether the pull request is open.
 */
export function* unclearEntries(ids: readonly string[]): Verb<Set<string>> {
  const rows = yield sql`SELECT id FROM inbox WHERE id IN (${join(padded(ids))})
    AND (needs_look = 1 OR EXISTS (SELECT 1 FROM inbox AS other WHERE other.lane = inbox.lane
      AND other.event_at = inbox.event_at AND other.pr_state <> inbox.pr_state))`
  return new Set(rows.map((row) => row['id'] as string))
}

/**
 * The entries whose pull request a later event has opened or closed again, so that what they say is
 * outdated.
 */
export function* overtakenEntries(ids: readonly string[]): Verb<Set<string>> {
  const rows = yield sql`SELECT id FROM inbox WHERE id IN (${join(padded(ids))})
    AND pr_state <> (SELECT later.pr_state FROM inbox AS later
      WHERE later.lane = inbox.lane AND later.event_at > inbox.event_at
        AND later.pr_state IS NOT NULL
      ORDER BY later.event_at DESC, later.arrival DESC LIMIT 1)`
  return new Set(rows.map((row) => row['id'] as string))
}

/** Waits until no other transaction is finishing an entry of this lane. */
export function* waitForLane(lane: string, keepUnchanged: Sql): Verb<void> {
  yield sql`SELECT id FROM inbox WHERE lane = ${lane} AND due_at IS NOT NULL ${keepUnchanged}`
}

/** Only for entries this transaction has locked. */
export function* writeEntries(entries: readonly InboxEntry[]): Verb<void> {
  for (const entry of entries) {
    yield sql`UPDATE inbox SET state = ${entry.state}, decision = ${entry.decision},
        reason = ${entry.reason}, outcomes = ${JSON.stringify(entry.outcomes)},
        processed_at = ${entry.processedAt}, due_at = ${entry.dueAt}, tries = ${entry.tries},
        last_error = ${entry.lastError}
      WHERE id = ${entry.id}`
  }
}

export function* selectBody(arrival: number): Verb<WebhookBody | null> {
  const [row] = yield sql`SELECT headers, body FROM inbox_body WHERE arrival = ${arrival}`
  return row === undefined
    ? null
    : { headers: row['headers'] as string, body: row['body'] as Uint8Array }
}

/** Heads that events of this lane named, the latest by GitHub's clock first. */
export function* eventHeads(filter: LaneEventFilter, limit: number): Verb<EventHead[]> {
  const rows = yield sql`SELECT event_at, head_sha, CASE WHEN makes_head = 0 THEN 'mention'
      WHEN event = 'reconcile' THEN 'look' ELSE 'event' END AS made_by
    FROM inbox WHERE head_sha IS NOT NULL AND ${laneEvents(filter)} LIMIT ${limit}`
  return rows.map((row) => ({
    at: Number(row['event_at']),
    headSha: row['head_sha'] as string,
    by: row['made_by'] as EventHead['by'],
  }))
}

export function* lastEvent(filter: LaneEventFilter): Verb<InboxEntry | null> {
  const [last] = yield* selectEntries(sql`${laneEvents(filter)} LIMIT 1`)
  return last ?? null
}

/** The latest by GitHub's clock first. Only pull request events have a `pr_state`. */
function laneEvents({ lane, made, actions }: LaneEventFilter): Sql {
  const isMade = made === true ? raw('AND makes_head = 1') : raw('')
  const isOne =
    actions === undefined
      ? raw('')
      : sql`AND pr_state IS NOT NULL AND action IN (${join(padded(actions))})`
  return sql`lane = ${lane} AND event_at IS NOT NULL ${isMade} ${isOne}
    ORDER BY event_at DESC, arrival DESC`
}

/** By the last event that opened or closed it, unless a later event contradicts it. */
export function* hasStateEvent(lane: string, state: 'open' | 'closed'): Verb<boolean | null> {
  const acted = yield* lastEvent({ lane, actions: ['opened', 'reopened', 'closed'] })
  if (acted !== null && (acted.action === 'closed') !== (state === 'closed')) return false
  const others = yield sql`SELECT id FROM inbox WHERE lane = ${lane} AND pr_state <> ${state}
    AND event_at > ${acted?.eventAt ?? -1} LIMIT 1`
  if (others.length > 0) return false
  return acted === null ? null : true
}

export function* inboxBacklog(): Verb<InboxBacklog> {
  const [row] = yield sql`SELECT count(*) AS waiting, min(received_at) AS oldest_at,
      coalesce(sum(CASE WHEN tries > 0 THEN 1 ELSE 0 END), 0) AS postponed
    FROM inbox WHERE due_at IS NOT NULL`
  const [tried] = yield* selectEntries(
    sql`due_at IS NOT NULL AND tries > 0 ORDER BY tries DESC, arrival LIMIT 1`,
  )
  const [gone] = yield sql`SELECT count(*) AS failed FROM inbox WHERE state = 'failed'`
  const [last] = yield* selectEntries(sql`state = 'failed' ORDER BY arrival DESC LIMIT 1`)
  const oldestAt = row?.['oldest_at'] ?? null
  return {
    waiting: Number(row?.['waiting'] ?? 0),
    oldestAt: oldestAt === null ? null : Number(oldestAt),
    postponed: Number(row?.['postponed'] ?? 0),
    mostTried: tried ? { id: tried.id, tries: tried.tries, lastError: tried.lastError } : null,
    failed: Number(gone?.['failed'] ?? 0),
    lastFailed: last ? { id: last.id, reason: last.reason } : null,
  }
}
