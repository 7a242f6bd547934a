/**
 * Who publishes what: a due delivery is one holder's for as long as a request may take and a bit.
 * Whoever finds an attempt without an outcome takes it over as in doubt.
 */
import type { Attempt, Delivery } from '../../../domain/outbox/delivery.ts'
import { afterFinding, afterTakeover } from '../../../domain/outbox/advance.ts'
import { letGoOn } from '../../../domain/outbox/message-line.ts'
import type { Pace, QueueHead } from '../../../domain/outbox/queue.ts'
import { priorities } from '../../../domain/outbox/priority.ts'
import {
  identityOfQueue,
  isEntryQueue,
  isRepairQueue,
  opensAt,
  pickHeads,
  pickInTurn,
} from '../../../domain/outbox/queue.ts'
import { withTimeInQueue } from '../../../domain/outbox/setback.ts'
import type {
  DeliveryHold,
  LeasedDelivery,
  LeaseRoom,
  PlacedDelivery,
} from '../../../store/outbox-store.ts'
import type { Verb } from '../../sql.ts'
import { join, padded, sql } from '../../sql.ts'
import { insertAudits } from '../../tables/audit-table.ts'
import { selectPaces } from '../../tables/budget-table.ts'
import {
  selectAttempts,
  selectDeliveries,
  selectDueTimes,
  selectQueueHeads,
  writeOutcome,
} from '../../tables/delivery-table.ts'
import { unverifiedNamesOf } from '../../tables/repository-table.ts'
import type { VerbContext } from '../context.ts'
import { circumstancesOf } from '../context.ts'
import { noteBite } from './note-restore.ts'
import { storeDeliveries } from './store-deliveries.ts'

export function* leaseDeliveries(context: VerbContext, room: LeaseRoom): Verb<LeasedDelivery[]> {
  // What a restore has left unnoted may have been sent: nothing goes before all is noted.
  if (yield* noteBite(context)) return []
  const now = context.now()
  const heads = yield* selectQueueHeads()
  const queued = yield* dueInQueues(context, room, heads)
  const repairs = yield* repairsInQueues(context, room, heads)
  const elsewhere = yield* dueElsewhere(context, room, queued.length, repairs.length)
  const due = [...queued, ...repairs, ...elsewhere]
  if (due.length === 0) return []
  const found = yield* selectDeliveries(
    sql`id IN (${join(padded(due))}) ORDER BY priority, changed_at, id`,
  )
  const taken: Delivery[] = []
  const givenUp: Delivery[] = []
  const lost = new Set<string>()
  for (const delivery of found) {
    const known = yield* asKnown(context, delivery)
    if (delivery.leaseId !== null && delivery.attemptId === null) {
      if (isUnpreparable(context, delivery)) {
        givenUp.push(delivery)
        continue
      }
      lost.add(delivery.id)
    }
    const leasedUntil = now + context.publishing.deliveryLeaseMs
    // Due again when the lease is over, whatever becomes of its holder.
    const leaseId = context.newId('req')
    const waited = withTimeInQueue(known, now, context.publishing)
    taken.push({ ...waited, leaseId, leasedUntil, dueAt: leasedUntil, attemptId: null })
  }
  const placed = yield* withPlaces(yield* storeDeliveries(context, taken))
  // After those that are taken: whoever waits for one of these in its line may be among them.
  for (const delivery of givenUp) yield* giveUp(context, delivery)
  return placed.map((one) => {
    const { delivery } = one
    const { id } = delivery
    const fromQueue = heads.find((head) => head.id === id)?.queue ?? null
    return { ...one, hold: holdOf(delivery), wasLost: lost.has(id), fromQueue }
  })
}

/** What became of it while nobody had it. */
function* asKnown(context: VerbContext, delivery: Delivery): Verb<Delivery> {
  if (delivery.attemptId !== null) return yield* takeOver(context, delivery)
  // For as long as it may be tried, it waited for an earlier message of its run.
  const isPastWaiting = delivery.wait === 'order'
  return isPastWaiting ? letGoOn(delivery, context.now(), context.publishing) : delivery
}

/** Only those whose identity may write now: the others' are not even looked at. */
function* dueInQueues(
  context: VerbContext,
  room: LeaseRoom,
  heads: readonly QueueHead[],
): Verb<string[]> {
  const { limit, progressMax, queuedMax = limit, entriesMax = limit, lastServed } = room
  const max = Math.min(limit, queuedMax)
  if (max <= 0 || heads.length === 0) return []
  const full = new Set(room.full)
  const entries = pickInTurn(
    heads.filter(({ queue }) => isEntryQueue(queue)),
    lastServed?.entry ?? '',
    full,
    Math.min(max, entriesMax),
  )
  const others = heads.filter(({ queue }) => !isEntryQueue(queue) && !isRepairQueue(queue))
  const paces = yield* pacesOf(others)
  const free = { max: max - entries.length, progressMax, full }
  return yield* stillIn(context, [...entries, ...pickHeads(others, paces, free, context.now())])
}

function* repairsInQueues(
  context: VerbContext,
  { limit, repairsMax = limit, repairsQueuedMax = repairsMax, full, lastServed }: LeaseRoom,
  heads: readonly QueueHead[],
): Verb<string[]> {
  const max = Math.min(repairsMax, repairsQueuedMax)
  const repairs = heads.filter(({ queue }) => isRepairQueue(queue))
  return yield* stillIn(context, pickInTurn(repairs, lastServed?.repair ?? '', new Set(full), max))
}

/** Those that nobody else takes at this moment. */
function* stillIn(context: VerbContext, picked: readonly string[]): Verb<string[]> {
  if (picked.length === 0) return []
  const rows = yield sql`SELECT id FROM delivery
    WHERE id IN (${join(padded(picked))}) AND queue IS NOT NULL
    ${context.dialect.lockFree('delivery')}`
  return rows.map((row) => row['id'] as string)
}

function* pacesOf(heads: readonly QueueHead[]): Verb<Map<string, Pace>> {
  return yield* selectPaces([...new Set(heads.map(({ queue }) => identityOfQueue(queue)))])
}

function* dueElsewhere(
  context: VerbContext,
  room: LeaseRoom,
  taken: number,
  repairing: number,
): Verb<string[]> {
  const { limit, progressMax, repairsMax = limit } = room
  const first = yield* dueOf(context, priorities.first, limit - taken)
  const left = Math.min(limit - taken - first.length, progressMax)
  const further = yield* dueOf(context, priorities.further, left)
  const progress = yield* dueOf(context, priorities.progress, left - further.length)
  const repairs = yield* dueOf(context, priorities.repair, repairsMax - repairing)
  return [...first, ...further, ...progress, ...repairs]
}

function* dueOf(context: VerbContext, priority: number, room: number): Verb<string[]> {
  if (room <= 0) return []
  const rows = yield sql`SELECT id FROM delivery
    WHERE due_at IS NOT NULL AND queue IS NULL AND priority = ${priority}
      AND due_at <= ${context.now()}
    ORDER BY priority, due_at LIMIT ${room}
    ${context.dialect.lockFree('delivery')}`
  return rows.map((row) => row['id'] as string)
}

/** Nobody came back from preparing it, as often as that may happen. */
function isUnpreparable({ publishing }: VerbContext, { memo }: Delivery): boolean {
  return (memo.preparations ?? 0) >= publishing.preparationsMax
}

function* giveUp(context: VerbContext, delivery: Delivery): Verb<void> {
  const text = 'whoever prepared it was lost each time'
  const finding = { what: 'unprepared', trouble: { code: 'preparation_lost', text } } as const
  const around = circumstancesOf(context)
  const told = afterFinding(delivery, { ...finding, counted: true }, around)
  yield* storeDeliveries(context, [told.delivery])
  yield* insertAudits(told.audits, around.now)
}

function* takeOver(context: VerbContext, delivery: Delivery): Verb<Delivery> {
  const now = context.now()
  const [attempt] = yield* selectAttempts(sql`id = ${delivery.attemptId}`)
  if (attempt === undefined) return delivery
  yield* writeOutcome(lost(attempt, now))
  const told = afterTakeover(delivery, attempt, circumstancesOf(context))
  yield* insertAudits(told.audits, now)
  return told.delivery
}

function lost(attempt: Attempt, now: number): Attempt {
  const errorText = 'whoever sent it was lost before its answer'
  return { ...attempt, endedAt: now, outcome: 'in_doubt', errorCode: 'holder_lost', errorText }
}

export function* withPlaces(deliveries: readonly Delivery[]): Verb<PlacedDelivery[]> {
  if (deliveries.length === 0) return []
  const repositoryIds = padded([...new Set(deliveries.map((item) => item.repositoryId))])
  const repositories = yield sql`SELECT id, name, github_id FROM repository
    WHERE id IN (${join(repositoryIds)})`
  const former = yield sql`SELECT id, merged_into FROM repository
    WHERE merged_into IN (${join(repositoryIds)})`
  const subjects = yield sql`SELECT id, thread_created_at FROM subject
    WHERE id IN (${join(padded([...new Set(deliveries.map((item) => item.subjectId))]))})`
  const unverified = yield* unverifiedNamesOf(deliveries.map(({ runId }) => runId))
  return deliveries.map((delivery) => {
    const repository = repositories.find((row) => row['id'] === delivery.repositoryId)
    const subject = subjects.find((row) => row['id'] === delivery.subjectId)
    return {
      delivery,
      repo: (repository?.['name'] ?? '') as string,
      repoGithubId: (repository?.['github_id'] ?? null) as number | null,
      unverifiedName: unverified.get(delivery.runId) ?? null,
      ownRepositoryIds: [
        delivery.repositoryId,
        ...former
          .filter((row) => row['merged_into'] === delivery.repositoryId)
          .map((row) => row['id'] as string),
      ],
      threadCreatedAt: (subject?.['thread_created_at'] ?? null) as number | null,
    }
  })
}

function holdOf({ id, leaseId, versionFence, versionSeq }: Delivery): DeliveryHold {
  return { deliveryId: id, leaseId: leaseId ?? '', versionFence, versionSeq }
}

/** Only for whoever is alone with the store: its dead predecessor's leases bind nobody. */
export function* takeOverLeases(context: VerbContext): Verb<number> {
  const now = context.now()
  const rows = yield sql`UPDATE delivery SET leased_until = ${now}, due_at = ${now}, rev = rev + 1
    WHERE leased_until IS NOT NULL AND leased_until > ${now} RETURNING id`
  return rows.length
}

export function* nextDueAt(): Verb<number | null> {
  const heads = yield* selectQueueHeads()
  const paces = yield* pacesOf(heads)
  const times = heads.map((head) => opensAt(head, paces.get(identityOfQueue(head.queue))))
  times.push(...(yield* selectDueTimes()))
  return times.length === 0 ? null : Math.min(...times)
}
