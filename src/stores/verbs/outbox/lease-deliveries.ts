/**
 * Gives due deliveries to a publisher. A lease lasts a little longer than a request may take. If
 * the last holder left an attempt without an outcome, the attempt is recorded as in doubt.
 */
import type { DeliveryAttempt, Delivery } from '../../../domain/outbox/delivery.ts'
import { afterFinding } from '../../../domain/outbox/protocol/after-attempt.ts'
import { afterTakeover } from '../../../domain/outbox/protocol/in-doubt.ts'
import { releaseFromLine } from '../../../domain/outbox/message-line.ts'
import type { Pace, QueueHead } from '../../../domain/outbox/queue.ts'
import {
  identityOfQueue,
  isEntryQueue,
  isRepairQueue,
  mayBeTriedAt,
  pickHeads,
  pickRoundRobin,
  priorities,
} from '../../../domain/outbox/queue.ts'
import { withTimeInQueue } from '../../../domain/outbox/protocol/retry-later.ts'
import type {
  DeliveryLease,
  LeasedDelivery,
  LeaseRoom,
  PlacedDelivery,
} from '../../../store/outbox-store.ts'
import type { Verb } from '../../sql.ts'
import { join, padded, raw, sql } from '../../sql.ts'
import { insertDecision } from '../../tables/audit-table.ts'
import { selectPaces } from '../../tables/budget-table.ts'
import {
  selectAttempts,
  selectDeliveries,
  selectDueTimes,
  selectDueTimesOf,
  selectQueueHeads,
  selectQueueHeadsOf,
  writeOutcome,
} from '../../tables/delivery-table.ts'
import { unverifiedNamesOf } from '../../tables/repository-table.ts'
import type { VerbContext } from '../context.ts'
import { circumstancesOf } from '../context.ts'
import { noteBatch } from './note-restore.ts'
import { storeDeliveries } from './store-deliveries.ts'

export function* leaseDeliveries(context: VerbContext, room: LeaseRoom): Verb<LeasedDelivery[]> {
  // Until a restore is noted completely, any delivery may have been sent already.
  if (yield* noteBatch(context)) return []
  const now = context.now()
  const { runId } = room
  const heads = runId === undefined ? yield* selectQueueHeads() : yield* selectQueueHeadsOf(runId)
  const queued = yield* dueInQueues(context, room, heads)
  const repairs = yield* repairsInQueues(context, room, heads)
  const unqueued = yield* dueOutsideQueues(context, room, queued.length, repairs.length)
  const due = [...queued, ...repairs, ...unqueued]
  if (due.length === 0) return []
  const found = yield* selectDeliveries(
    sql`id IN (${join(padded(due))}) ORDER BY priority, changed_at, id`,
  )
  const taken: Delivery[] = []
  const unpreparable: Delivery[] = []
  const withLostHolder = new Set<string>()
  for (const delivery of found) {
    const known = yield* withWhatHappened(context, delivery)
    if (delivery.leaseId !== null && delivery.attemptId === null) {
      if (isUnpreparable(context, delivery)) {
        unpreparable.push(delivery)
        continue
      }
      withLostHolder.add(delivery.id)
    }
    const leasedUntil = now + context.publishing.deliveryLeaseMs
    // It is due again when the lease ends, even if its holder dies.
    const leaseId = context.newId('req')
    const waited = withTimeInQueue(known, now, context.publishing)
    taken.push({ ...waited, leaseId, leasedUntil, dueAt: leasedUntil, attemptId: null })
  }
  const placed = yield* withPlaces(yield* storeDeliveries(context, taken, found))
  // These come last: a message that waits for one of them in its line may be among the taken ones.
  for (const delivery of unpreparable) yield* failUnpreparable(context, delivery)
  return placed.map((one) => {
    const { delivery } = one
    const { id } = delivery
    const fromQueue = heads.find((head) => head.id === id)?.queue ?? null
    return { ...one, lease: leaseOf(delivery), wasLost: withLostHolder.has(id), fromQueue }
  })
}

/** Applies what happened since the last holder had it. */
function* withWhatHappened(context: VerbContext, delivery: Delivery): Verb<Delivery> {
  if (delivery.attemptId !== null) return yield* takeOver(context, delivery)
  // It waited for an earlier message of its run until its own deadline.
  const hasWaitedLongest = delivery.wait === 'order'
  return hasWaitedLongest ? releaseFromLine(delivery, context.now(), context.publishing) : delivery
}

/** Only deliveries whose identity may write now. The rows of other identities are not read. */
function* dueInQueues(
  context: VerbContext,
  room: LeaseRoom,
  heads: readonly QueueHead[],
): Verb<string[]> {
  const { limit, progressMax, queuedMax = limit, entriesMax = limit, lastServed } = room
  const max = Math.min(limit, queuedMax)
  if (max <= 0 || heads.length === 0) return []
  const full = new Set(room.full)
  const entries = pickRoundRobin(
    heads.filter(({ queue }) => isEntryQueue(queue)),
    lastServed?.entry ?? '',
    full,
    Math.min(max, entriesMax),
  )
  const others = heads.filter(({ queue }) => !isEntryQueue(queue) && !isRepairQueue(queue))
  const paces = yield* pacesOf(others)
  const free = { max: max - entries.length, progressMax, full }
  return yield* lockStillQueued(context, [
    ...entries,
    ...pickHeads(others, paces, free, context.now()),
  ])
}

function* repairsInQueues(
  context: VerbContext,
  { limit, repairsMax = limit, repairsQueuedMax = repairsMax, full, lastServed }: LeaseRoom,
  heads: readonly QueueHead[],
): Verb<string[]> {
  const max = Math.min(repairsMax, repairsQueuedMax)
  const repairs = heads.filter(({ queue }) => isRepairQueue(queue))
  return yield* lockStillQueued(
    context,
    pickRoundRobin(repairs, lastServed?.repair ?? '', new Set(full), max),
  )
}

/** Locks those that no other process is taking at this moment. */
function* lockStillQueued(context: VerbContext, picked: readonly string[]): Verb<string[]> {
  if (picked.length === 0) return []
  const rows = yield sql`SELECT id FROM delivery
    WHERE id IN (${join(padded(picked))}) AND queue IS NOT NULL
    ${context.dialect.lockFree('delivery')}`
  return rows.map((row) => row['id'] as string)
}

function* pacesOf(heads: readonly QueueHead[]): Verb<Map<string, Pace>> {
  return yield* selectPaces([...new Set(heads.map(({ queue }) => identityOfQueue(queue)))])
}

function* dueOutsideQueues(
  context: VerbContext,
  room: LeaseRoom,
  taken: number,
  repairing: number,
): Verb<string[]> {
  const { limit, progressMax, repairsMax = limit, runId } = room
  const first = yield* dueOf(context, priorities.first, limit - taken, runId)
  const left = Math.min(limit - taken - first.length, progressMax)
  const further = yield* dueOf(context, priorities.further, left, runId)
  const progress = yield* dueOf(context, priorities.progress, left - further.length, runId)
  const repairs = yield* dueOf(context, priorities.repair, repairsMax - repairing, runId)
  return [...first, ...further, ...progress, ...repairs]
}

function* dueOf(
  context: VerbContext,
  priority: number,
  room: number,
  runId: string | undefined,
): Verb<string[]> {
  if (room <= 0) return []
  const ofRun = runId === undefined ? raw('1 = 1') : sql`run_id = ${runId}`
  const rows = yield sql`SELECT id FROM delivery
    WHERE due_at IS NOT NULL AND queue IS NULL AND priority = ${priority}
      AND due_at <= ${context.now()} AND ${ofRun}
    ORDER BY priority, due_at LIMIT ${room}
    ${context.dialect.lockFree('delivery')}`
  return rows.map((row) => row['id'] as string)
}

/** As many holders were lost while preparing it as the rules allow. */
function isUnpreparable({ publishing }: VerbContext, { protocol }: Delivery): boolean {
  return (protocol.preparations ?? 0) >= publishing.preparationsMax
}

function* failUnpreparable(context: VerbContext, delivery: Delivery): Verb<void> {
  const text = 'the process that prepared it was lost each time'
  const finding = { what: 'unprepared', trouble: { code: 'preparation_lost', text } } as const
  const circumstances = circumstancesOf(context, delivery)
  const change = afterFinding(delivery, { ...finding, counted: true }, circumstances)
  yield* storeDeliveries(context, [change.delivery])
  yield* insertDecision(change.audits, delivery.causeId, circumstances.now)
}

function* takeOver(context: VerbContext, delivery: Delivery): Verb<Delivery> {
  const now = context.now()
  const [attempt] = yield* selectAttempts(sql`id = ${delivery.attemptId}`)
  if (attempt === undefined) return delivery
  yield* writeOutcome(lostAttempt(attempt, now))
  const change = afterTakeover(delivery, attempt, circumstancesOf(context, delivery))
  yield* insertDecision(change.audits, delivery.causeId, now)
  return change.delivery
}

function lostAttempt(attempt: DeliveryAttempt, now: number): DeliveryAttempt {
  const errorText = 'the process that sent it was lost before the answer came'
  return { ...attempt, endedAt: now, outcome: 'in_doubt', errorCode: 'holder_lost', errorText }
}

export function* withPlaces(deliveries: readonly Delivery[]): Verb<PlacedDelivery[]> {
  if (deliveries.length === 0) return []
  const repositoryIds = padded(idsOf(deliveries.map((item) => item.repositoryId)))
  const repositories = yield sql`SELECT id, name, github_id FROM repository
    WHERE id IN (${join(repositoryIds)})`
  const former = yield sql`SELECT id, merged_into FROM repository
    WHERE merged_into IN (${join(repositoryIds)})`
  const subjects = yield sql`SELECT id, thread_created_at FROM subject
    WHERE id IN (${join(padded(idsOf(deliveries.map((item) => item.subjectId))))})`
  const unverified = yield* unverifiedNamesOf(idsOf(deliveries.map(({ runId }) => runId)))
  return deliveries.map((delivery) => {
    const repository = repositories.find((row) => row['id'] === delivery.repositoryId)
    const subject = subjects.find((row) => row['id'] === delivery.subjectId)
    return {
      delivery,
      repo: delivery.repositoryId === null ? null : ((repository?.['name'] ?? '') as string),
      repoGithubId: (repository?.['github_id'] ?? null) as number | null,
      unverifiedName: unverified.get(delivery.runId ?? '') ?? null,
      ownRepositoryIds: [
        ...(delivery.repositoryId === null ? [] : [delivery.repositoryId]),
        ...former
          .filter((row) => row['merged_into'] === delivery.repositoryId)
          .map((row) => row['id'] as string),
      ],
      threadCreatedAt: (subject?.['thread_created_at'] ?? null) as number | null,
    }
  })
}

/** Without nulls. The list is never empty, because PostgreSQL accepts no empty list. */
function idsOf(ids: readonly (string | null)[]): string[] {
  const given = new Set(ids.filter((id) => id !== null))
  return given.size === 0 ? [''] : [...given]
}

function leaseOf({ id, leaseId, versionFence, versionSeq }: Delivery): DeliveryLease {
  return { deliveryId: id, leaseId: leaseId ?? '', versionFence, versionSeq }
}

/**
 * Only for the one process that uses the store: the process before it is dead, and so its leases.
 */
export function* takeOverLeases(context: Pick<VerbContext, 'now'>): Verb<number> {
  const now = context.now()
  const rows = yield sql`UPDATE delivery SET leased_until = ${now}, due_at = ${now}, rev = rev + 1
    WHERE leased_until IS NOT NULL AND leased_until > ${now} RETURNING id`
  return rows.length
}

export function* nextDueAt(runId?: string): Verb<number | null> {
  const heads = runId === undefined ? yield* selectQueueHeads() : yield* selectQueueHeadsOf(runId)
  const paces = yield* pacesOf(heads)
  const times = heads.map((head) => mayBeTriedAt(head, paces.get(identityOfQueue(head.queue))))
  const due = runId === undefined ? yield* selectDueTimes() : yield* selectDueTimesOf(runId)
  times.push(...due)
  return times.length === 0 ? null : Math.min(...times)
}
