/** Tables `delivery` and `delivery_attempt`. Every write checks and raises `rev`. */
import type { Delivery, DeliveryAttempt, ProtocolState } from '../../domain/outbox/delivery.ts'
import type { QueueHead } from '../../domain/outbox/queue.ts'
import { priorities, withQueueFields } from '../../domain/outbox/queue.ts'
import { LostRace, type RowsFromJson } from '../driver.ts'
import type { Row, Sql, Verb } from '../sql.ts'
import { countChanged, inPieces, join, padded, raw, sql } from '../sql.ts'
import { table } from './table.ts'

const delivery = table<Delivery>(
  'delivery',
  [
    'id',
    'rev',
    'kind',
    'channel',
    'target',
    'name',
    'runId',
    'subjectId',
    'repositoryId',
    'thread',
    'sha',
    'address',
    'markerKey',
    'round',
    'versionFence',
    'versionSeq',
    'causeId',
    'content',
    'final',
    'announces',
    'status',
    'reason',
    'wait',
    'priority',
    'queue',
    'waitsSince',
    'turn',
    'line',
    'dueAt',
    'leaseId',
    'leasedUntil',
    'attemptId',
    'tries',
    'deadlineAt',
    'announcedFence',
    'sentFence',
    'sentSeq',
    'sentHash',
    'sentAt',
    'shownSince',
    'providerId',
    'providerUrl',
    'coalesced',
    'protocol',
    'errorCode',
    'errorText',
    'createdAt',
    'changedAt',
    'closedAt',
  ],
  {
    flags: ['final', 'announces'],
    json: ['protocol'],
  },
)

const attempt = table<DeliveryAttempt>(
  'delivery_attempt',
  [
    'id',
    'deliveryId',
    'action',
    'versionFence',
    'versionSeq',
    'startedAt',
    'endedAt',
    'outcome',
    'late',
    'errorCode',
    'errorText',
    'httpStatus',
    'requestId',
    'githubRequestId',
    'providerId',
  ],
  { flags: ['late'] },
)

/** The columns that are needed to count and list deliveries, without the large ones. */
export type DeliveryOutline = Pick<
  Delivery,
  | 'id'
  | 'runId'
  | 'channel'
  | 'kind'
  | 'final'
  | 'status'
  | 'reason'
  | 'wait'
  | 'queue'
  | 'dueAt'
  | 'leasedUntil'
  | 'attemptId'
  | 'providerId'
  | 'changedAt'
  | 'errorCode'
>

const outline = table<DeliveryOutline>(
  'delivery',
  [
    'id',
    'runId',
    'channel',
    'kind',
    'final',
    'status',
    'reason',
    'wait',
    'queue',
    'dueAt',
    'leasedUntil',
    'attemptId',
    'providerId',
    'changedAt',
    'errorCode',
  ],
  { flags: ['final'] },
)

const head = table<QueueHead>('delivery', ['id', 'queue', 'priority', 'waitsSince', 'dueAt'])

export function* selectDeliveries(rest: Sql): Verb<Delivery[]> {
  return yield* delivery.read(sql`SELECT ${delivery.columns} FROM delivery WHERE ${rest}`)
}

export function* selectOutlines(rest: Sql): Verb<DeliveryOutline[]> {
  return yield* outline.read(sql`SELECT ${outline.columns} FROM delivery WHERE ${rest}`)
}

const smallBytesMax = 4096

/**
 * The protocol state of these, by id. A state that keeps texts of other runs may be large. Of those
 * only the first `largeMax` are read, one at a time; the others are missing here.
 */
export function* selectProtocols(
  ids: readonly string[],
  largeMax: number,
): Verb<Map<string, ProtocolState>> {
  const found = new Map<string, ProtocolState>()
  const add = (rows: readonly Row[]): void => {
    for (const row of rows) {
      found.set(row['id'] as string, JSON.parse(row['protocol'] as string) as ProtocolState)
    }
  }
  for (const piece of inPieces(ids)) {
    add(
      yield sql`SELECT id, protocol FROM delivery
        WHERE id IN (${join(piece)}) AND octet_length(protocol) <= ${smallBytesMax}`,
    )
  }
  for (const id of ids.filter((each) => !found.has(each)).slice(0, largeMax)) {
    add(yield sql`SELECT id, protocol FROM delivery WHERE id = ${id}`)
  }
  return found
}

export function* selectDelivery(id: string): Verb<Delivery | null> {
  const [found] = yield* selectDeliveries(sql`id = ${id}`)
  return found ?? null
}

export function* deliveriesAt(targets: readonly string[]): Verb<Map<string, Delivery>> {
  if (targets.length === 0) return new Map()
  const found = yield* selectDeliveries(sql`target IN (${join(padded(targets))})`)
  return new Map(found.map((item) => [item.target, item]))
}

/** What a run published under this name in this round. */
export function* selectNamed(runId: string, name: string, round: number): Verb<Delivery | null> {
  const [found] = yield* selectDeliveries(
    sql`run_id = ${runId} AND name = ${name} AND round = ${round} LIMIT 1`,
  )
  return found ?? null
}

/** Whether the run has another open message. */
export function* hasMessageWaiting(runId: string, except: string): Verb<boolean> {
  const rows = yield sql`SELECT id FROM delivery
    WHERE run_id = ${runId} AND kind = 'message' AND status = 'PENDING' AND id <> ${except}
    LIMIT 1`
  return rows.length > 0
}

/**
 * The place of the last message in a run's line. The row cannot change before this transaction
 * ends.
 */
export function* lastInLine(runId: string, keepUnchanged: Sql): Verb<number | null> {
  const [row] = yield sql`SELECT line FROM delivery
    WHERE run_id = ${runId} AND line IS NOT NULL ORDER BY line DESC LIMIT 1 ${keepUnchanged}`
  return row === undefined ? null : Number(row['line'])
}

/** The runs of those deliveries that are in a line and do not wait in it. */
export function* runsOfFirstInLine(ids: readonly string[]): Verb<string[]> {
  if (ids.length === 0) return []
  const rows = yield sql`SELECT run_id FROM delivery
    WHERE id IN (${join(padded(ids))}) AND line IS NOT NULL AND wait <> 'order'`
  return rows.map((row) => row['run_id'] as string)
}

export function* firstWaitingInLine(runId: string): Verb<Delivery | null> {
  const [found] = yield* selectDeliveries(
    sql`run_id = ${runId} AND line IS NOT NULL AND wait = 'order' ORDER BY line LIMIT 1`,
  )
  return found ?? null
}

/** The message right before this place in a run's line. */
export function* beforeInLine(runId: string, line: number): Verb<Delivery | null> {
  const [found] = yield* selectDeliveries(
    sql`run_id = ${runId} AND line IS NOT NULL AND line < ${line} ORDER BY line DESC LIMIT 1`,
  )
  return found ?? null
}

/** The turn of the next further message in a queue. */
export function* firstTurn(queue: string): Verb<number | null> {
  const [row] = yield sql`SELECT turn FROM delivery
    WHERE queue = ${queue} AND priority = ${priorities.further}
    ORDER BY turn, waits_since LIMIT 1`
  return row?.['turn'] == null ? null : Number(row['turn'])
}

export function* lastTurnOf(runId: string, queue: string): Verb<number | null> {
  const [row] = yield sql`SELECT turn FROM delivery
    WHERE queue = ${queue} AND run_id = ${runId} AND turn IS NOT NULL
    ORDER BY turn DESC LIMIT 1`
  return row?.['turn'] == null ? null : Number(row['turn'])
}

/** The next delivery of a priority. */
export function* firstInQueue(queue: string, priority: number): Verb<QueueHead | null> {
  const [first] = yield* head.read(sql`SELECT ${head.columns} FROM delivery
    WHERE queue = ${queue} AND priority = ${priority} ORDER BY turn, waits_since LIMIT 1`)
  return first ?? null
}

/**
 * The first delivery of each priority in each queue. One statement steps along the index from queue
 * to queue, so the length of a queue does not matter.
 */
export function* selectQueueHeads(): Verb<QueueHead[]> {
  return yield* head.read(sql`WITH RECURSIVE queues (name) AS (
      SELECT (SELECT queue FROM delivery WHERE queue IS NOT NULL ORDER BY queue LIMIT 1)
      UNION ALL
      SELECT (SELECT queue FROM delivery
        WHERE queue IS NOT NULL AND queue > queues.name ORDER BY queue LIMIT 1)
      FROM queues WHERE queues.name IS NOT NULL
    )
    SELECT delivery.id, delivery.queue, delivery.priority, delivery.waits_since, delivery.due_at
    FROM queues
    CROSS JOIN (SELECT ${priorities.first} + 0 AS priority
      UNION ALL SELECT ${priorities.further} + 0
      UNION ALL SELECT ${priorities.progress} + 0
      UNION ALL SELECT ${priorities.repair} + 0) AS kinds
    JOIN delivery ON delivery.id = (SELECT id FROM delivery AS first
      WHERE first.queue = queues.name AND first.priority = kinds.priority
      ORDER BY first.turn, first.waits_since LIMIT 1)
    WHERE queues.name IS NOT NULL`)
}

/** A run has few deliveries in queues. */
const headsOfRunMax = 500

/** The same for the deliveries of one run, as if no other run had any. */
export function* selectQueueHeadsOf(runId: string): Verb<QueueHead[]> {
  const inOrder = yield* head.read(sql`SELECT ${head.columns} FROM delivery
    WHERE run_id = ${runId} AND queue IS NOT NULL
    ORDER BY turn, waits_since LIMIT ${headsOfRunMax}`)
  const heads = new Map<string, QueueHead>()
  for (const one of inOrder) {
    const place = `${one.queue} ${one.priority}`
    if (!heads.has(place)) heads.set(place, one)
  }
  return [...heads.values()]
}

/** When the first delivery of a run is due, without those in queues. */
export function* selectDueTimesOf(runId: string): Verb<number[]> {
  const [row] = yield sql`SELECT min(due_at) AS first FROM delivery
    WHERE run_id = ${runId} AND due_at IS NOT NULL AND queue IS NULL`
  return row?.['first'] == null ? [] : [Number(row['first'])]
}

/** When the first delivery of each priority is due, without those in queues. */
export function* selectDueTimes(): Verb<number[]> {
  const first = (priority: number): Sql => sql`(SELECT due_at FROM delivery
    WHERE due_at IS NOT NULL AND queue IS NULL AND priority = ${priority}
    ORDER BY priority, due_at LIMIT 1)`
  const [row] = yield sql`SELECT ${first(priorities.first)} AS first,
    ${first(priorities.further)} AS further, ${first(priorities.progress)} AS progress,
    ${first(priorities.repair)} AS repair`
  return Object.values(row ?? {}).flatMap((at) => (at === null ? [] : Number(at)))
}

/**
 * Writes deliveries, existing rows first. If a row changed since it was read, or another
 * transaction created the target meanwhile, the race is lost. `was`: as they were read; then only
 * what differs is written.
 */
export function* writeDeliveries(
  deliveries: readonly Delivery[],
  was: readonly Delivery[],
  rowsFromJson: RowsFromJson | null,
): Verb<Delivery[]> {
  const raised = deliveries.map((item) => ({ ...withQueueFields(item), rev: item.rev + 1 }))
  const existing = raised.filter(({ rev }) => rev > 1)
  if (rowsFromJson !== null && existing.length > 1) yield* updateDeliveries(existing, rowsFromJson)
  else {
    const before = new Map(was.map((item) => [item.id, item]))
    for (const item of existing) yield* updateDelivery(item, before.get(item.id))
  }
  const fresh = raised.filter(({ rev }) => rev === 1)
  if (fresh.length === 0) return raised
  const made = yield delivery.insert(fresh, raw('ON CONFLICT (target) DO NOTHING RETURNING id'))
  if (made.length < fresh.length) throw new LostRace('a target was taken meanwhile')
  return raised
}

function* updateDelivery(item: Delivery, was: Delivery | undefined): Verb<void> {
  const known = was?.rev === item.rev - 1 ? was : undefined
  const written = yield* countChanged(sql`UPDATE delivery SET ${delivery.assign(item, known)}
    WHERE id = ${item.id} AND rev = ${item.rev - 1}`)
  if (written === 0) throw new LostRace('a delivery changed since it was read')
}

function* updateDeliveries(items: readonly Delivery[], rowsFromJson: RowsFromJson): Verb<void> {
  const written = yield sql`UPDATE delivery SET ${delivery.assignGiven}
    FROM ${rowsFromJson('delivery', delivery.json(items))} AS given
    WHERE delivery.id = given.id AND delivery.rev = given.rev - 1 RETURNING delivery.id`
  if (written.length < items.length) throw new LostRace('a delivery changed since it was read')
}

export function* selectAttempts(rest: Sql): Verb<DeliveryAttempt[]> {
  return yield* attempt.read(sql`SELECT ${attempt.columns} FROM delivery_attempt WHERE ${rest}`)
}

export function* insertAttempt(item: DeliveryAttempt): Verb<void> {
  yield sql`INSERT INTO delivery_attempt (${attempt.columns})
    VALUES (${join(attempt.encode(item))})`
}

/** False if it already has an outcome, which then stays. */
export function* writeOutcome(item: DeliveryAttempt): Verb<boolean> {
  const written = yield sql`UPDATE delivery_attempt SET ${attempt.assign(item)}
    WHERE id = ${item.id} AND outcome IS NULL RETURNING id`
  return written.length > 0
}

/** Stores the real outcome of an attempt that was recorded as lost. */
export function* keepLateOutcome(item: DeliveryAttempt): Verb<void> {
  yield sql`UPDATE delivery_attempt SET ${attempt.assign(item)}
    WHERE id = ${item.id}`
}
