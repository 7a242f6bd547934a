/**
 * Stores attempts and findings. An attempt is stored, and its write is taken from the budget,
 * before the request leaves. Afterwards it gets its outcome. If another process has taken the lease
 * over by then, the outcome is kept as `late`. It then only marks the target as unsettled.
 */
import { afterAttempt, afterFinding } from '../../../domain/outbox/protocol/after-attempt.ts'
import { afterLateEnd } from '../../../domain/outbox/protocol/in-doubt.ts'
import type { ChannelDeclaration } from '../../../domain/outbox/channel-declaration.ts'
import type { WriteKind } from '../../../domain/outbox/budget.ts'
import { takeWrite } from '../../../domain/outbox/budget.ts'
import type { DeliveryAttempt, Delivery } from '../../../domain/outbox/delivery.ts'
import { isOpen } from '../../../domain/outbox/delivery.ts'
import { withoutPreparations, withShowsWork } from '../../../domain/outbox/protocol/follow-up.ts'
import { givenUpTarget } from '../../../domain/outbox/merge.ts'
import type { AttemptEnd, Finding } from '../../../domain/outbox/outcome.ts'
import { forEarlierVersion } from '../../../domain/outbox/outcome.ts'
import {
  isRepair,
  needsTurn,
  priorities,
  queueName,
  turnOf,
  writeKindOf,
} from '../../../domain/outbox/queue.ts'
import type {
  AttemptReport,
  BeginAnswer,
  BeginRequest,
  DeliveryLease,
} from '../../../store/outbox-store.ts'
import type { Verb } from '../../sql.ts'
import { join, padded, sql } from '../../sql.ts'
import { insertDecision } from '../../tables/audit-table.ts'
import { lockBudget, writeBudget } from '../../tables/budget-table.ts'
import {
  insertAttempt,
  deliveriesAt,
  firstInQueue,
  firstTurn,
  keepLateOutcome,
  lastTurnOf,
  selectDeliveries,
  selectDelivery,
  writeOutcome,
} from '../../tables/delivery-table.ts'
import { blockIdentity } from './budgets.ts'
import { repeatHidden } from './repeat-hidden.ts'
import type { VerbContext } from '../context.ts'
import { circumstancesOf } from '../context.ts'
import { storeDeliveries } from './store-deliveries.ts'

export function* beginAttempt(context: VerbContext, request: BeginRequest): Verb<BeginAnswer> {
  const delivery = yield* selectDelivery(request.lease.deliveryId)
  const { action, versionFence, versionSeq } = request
  if (delivery === null || !hasLease(delivery, request.lease)) return { result: 'lost' }
  const isSame = delivery.versionFence === versionFence && delivery.versionSeq === versionSeq
  // Only a removal is made for a closed delivery.
  if (!isSame || (!isOpen(delivery) && action !== 'remove')) {
    // A newer version must be sent instead, so the delivery is due again at once.
    const now = context.now()
    const freed = { ...delivery, leaseId: null, leasedUntil: null, dueAt: now }
    yield* storeDeliveries(context, [freed], [delivery])
    return { result: 'changed' }
  }
  const budget = yield* lockBudget(request.identity, context.now())
  const now = context.now()
  if (!request.isTurn && (yield* mustQueue(delivery, request.identity))) {
    return { result: 'budget', until: Math.max(now, budget.writesFrom ?? now), why: 'queue' }
  }
  const kind: WriteKind = isOpen(delivery) ? writeKindOf(delivery) : 'first'
  const grant = takeWrite(budget, request.limits, kind, now)
  yield* writeBudget(grant.budget)
  if (!grant.granted) return { result: 'budget', until: grant.until, why: grant.why }
  const attempt = newAttempt(context.newId('att'), request, now)
  yield* insertAttempt(attempt)
  const announcedFence = action === 'remove' ? delivery.announcedFence : versionFence
  // From now on people may see it. If it shows work in progress, it must be closed later.
  const { protocol: known } = withoutPreparations(delivery)
  const protocol = delivery.announces ? withShowsWork(delivery, known) : known
  // A message has one version and keeps its turn over all its attempts.
  const begun = { ...delivery, attemptId: attempt.id, waitsSince: null }
  yield* storeDeliveries(context, [{ ...begun, announcedFence, protocol }], [delivery])
  return { result: 'begun', attempt }
}

/** Another delivery already waits for the write that this one would take. */
function* mustQueue(delivery: Delivery, identity: string): Verb<boolean> {
  if (isRepair(delivery)) return false
  const queue = queueName(identity, delivery.channel)
  for (const priority of new Set([priorities.first, priorities[writeKindOf(delivery)]])) {
    if ((yield* firstInQueue(queue, priority)) !== null) return true
  }
  return false
}

function newAttempt(id: string, request: BeginRequest, now: number): DeliveryAttempt {
  const { action, versionFence, versionSeq, providerId, lease } = request
  return {
    id,
    deliveryId: lease.deliveryId,
    action,
    versionFence,
    versionSeq,
    startedAt: now,
    endedAt: null,
    outcome: null,
    late: false,
    errorCode: null,
    errorText: null,
    httpStatus: null,
    requestId: null,
    githubRequestId: null,
    providerId,
  }
}

export function* endAttempt(
  context: VerbContext,
  lease: DeliveryLease,
  report: AttemptReport,
): Verb<'recorded' | 'failed' | 'late'> {
  const delivery = yield* selectDelivery(lease.deliveryId)
  let causeId = delivery?.causeId ?? null
  if (report.end.what === 'rate_limited' && report.end.isKept !== true) {
    const { until, trouble } = report.end
    const { identity } = report
    causeId = yield* blockIdentity(context, identity, until, trouble.code, 'publisher', delivery)
  }
  const now = context.now()
  const inTime =
    delivery !== null &&
    hasLease(delivery, lease) &&
    delivery.attemptId === report.attempt.id &&
    (yield* writeOutcome(endedAttempt(report, false, now)))
  if (!inTime) {
    yield* keepLateEnd(context, delivery, report)
    return 'late'
  }
  const change = afterAttempt(
    delivery,
    report.attempt,
    report.end,
    circumstancesOf(context, delivery),
  )
  yield* storeDeliveries(context, [change.delivery], [delivery])
  const [auditId = causeId] = yield* insertDecision(change.audits, causeId, now)
  yield* repeatHidden(context, delivery, change.delivery, auditId)
  return recordedAs(delivery, change.delivery)
}

function recordedAs(before: Delivery, after: Delivery): 'recorded' | 'failed' {
  return isOpen(before) && after.status === 'FAILED' ? 'failed' : 'recorded'
}

/** The attempt is already recorded as in doubt. Its real outcome is kept in the attempt's row. */
function* keepLateEnd(
  context: VerbContext,
  delivery: Delivery | null,
  report: AttemptReport,
): Verb<void> {
  const now = context.now()
  yield* keepLateOutcome(endedAttempt(report, true, now))
  const mayHaveWritten = report.end.what === 'sent' || report.end.what === 'in_doubt'
  if (delivery === null || !mayHaveWritten) return
  const owner = yield* ownerOf(delivery)
  yield* storeDeliveries(context, [
    afterLateEnd(owner, report.attempt, circumstancesOf(context, owner)),
  ])
}

/** If the delivery gave up its target in a merge, the delivery that has the target now. */
function* ownerOf(delivery: Delivery): Verb<Delivery> {
  const target = givenUpTarget(delivery)
  if (target === null) return delivery
  return (yield* deliveriesAt([target])).get(target) ?? delivery
}

function endedAttempt(report: AttemptReport, late: boolean, now: number): DeliveryAttempt {
  const { attempt, end, httpStatus, requestId, githubRequestId } = report
  const trouble = 'trouble' in end ? end.trouble : null
  return {
    ...attempt,
    endedAt: now,
    outcome: outcomeOf(end),
    late,
    errorCode: trouble?.code ?? null,
    errorText: trouble?.text ?? null,
    httpStatus,
    requestId,
    githubRequestId,
    providerId: providerOf(end) ?? attempt.providerId,
  }
}

function outcomeOf({ what }: AttemptEnd): DeliveryAttempt['outcome'] {
  if (what === 'gone') return 'permanent'
  return what === 'unclear' ? 'retry' : what
}

const providerOf = (end: AttemptEnd): string | null => (end.what === 'sent' ? end.providerId : null)

export function* recordFinding(
  context: VerbContext,
  lease: DeliveryLease,
  finding: Finding,
): Verb<'recorded' | 'failed' | 'lost'> {
  const delivery = yield* selectDelivery(lease.deliveryId)
  if (delivery === null || !hasLease(delivery, lease)) return 'lost'
  const { versionFence, versionSeq } = lease
  const isNewest = delivery.versionFence === versionFence && delivery.versionSeq === versionSeq
  const circumstances = circumstancesOf(context, delivery)
  const own = yield* withoutOutputsOfOthers(delivery, circumstances.channel, finding)
  const current = isNewest ? own : forEarlierVersion(own)
  const change = afterFinding(delivery, current, circumstances)
  yield* storeDeliveries(context, [yield* withTurn(change.delivery)], [delivery])
  const { causeId } = delivery
  const [auditId = causeId] = yield* insertDecision(change.audits, causeId, context.now())
  yield* repeatHidden(context, delivery, change.delivery, auditId)
  return recordedAs(delivery, change.delivery)
}

/**
 * Two runs of one pair of commits that were claimed under two names have the same marker keys for
 * their check runs and for what they publish themselves. If an output that was found is known to
 * belong to another delivery, it does not belong to this one, whatever its marker says.
 */
function* withoutOutputsOfOthers(
  delivery: Delivery,
  channel: ChannelDeclaration,
  finding: Finding,
): Verb<Finding> {
  if (delivery.subjectId === null || !isFoundByKey(delivery, channel) || !('found' in finding))
    return finding
  const ids = finding.found.map(({ providerId }) => providerId)
  const unknown = ids.filter((providerId) => providerId !== delivery.providerId)
  if (unknown.length === 0) return finding
  const known = yield* selectDeliveries(sql`subject_id = ${delivery.subjectId}
    AND provider_id IN (${join(padded(unknown))}) AND channel = ${delivery.channel} ORDER BY id`)
  // A delivery that gave up its target has left its output to the one that has the target now.
  const others = known.filter((one) => one.id !== delivery.id && givenUpTarget(one) === null)
  const taken = new Set(others.map(({ providerId }) => providerId))
  return {
    ...finding,
    found: finding.found.filter(({ providerId }) => !taken.has(providerId)),
  }
}

/** Other outputs are found by their target, and there is only one anchor per target. */
function isFoundByKey({ name }: Delivery, { replacedBy }: ChannelDeclaration): boolean {
  return replacedBy === 'edit' && name !== 'anchor'
}

function* withTurn(delivery: Delivery): Verb<Delivery> {
  const { queue, runId } = delivery
  if (queue === null || runId === null || !needsTurn(delivery)) return delivery
  const turn = turnOf(yield* firstTurn(queue), yield* lastTurnOf(runId, queue))
  return { ...delivery, turn }
}

/**
 * Counted before the preparation begins, so that a preparation that kills the process is noticed.
 */
export function* notePreparation(
  context: VerbContext,
  lease: DeliveryLease,
  when: 'begins' | 'ended',
): Verb<'recorded' | 'lost'> {
  const delivery = yield* selectDelivery(lease.deliveryId)
  if (delivery === null || !hasLease(delivery, lease)) return 'lost'
  const preparations = (delivery.protocol.preparations ?? 0) + 1
  const begun = { ...delivery, protocol: { ...delivery.protocol, preparations } }
  const after = when === 'begins' ? begun : withoutPreparations(delivery)
  yield* storeDeliveries(context, [after], [delivery])
  return 'recorded'
}

const hasLease = (delivery: Delivery, lease: DeliveryLease): boolean =>
  delivery.leaseId === lease.leaseId
