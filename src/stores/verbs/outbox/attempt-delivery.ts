/**
 * An attempt: stored with its write taken from the budget before the request leaves, ended with its
 * outcome. An outcome that comes after the lease was taken over is kept as `late`: it changes
 * nothing but that the target counts as unsettled.
 */
import { afterAttempt, afterFinding } from '../../../domain/outbox/advance.ts'
import { afterLateEnd } from '../../../domain/outbox/interrupted.ts'
import type { WriteKind } from '../../../domain/outbox/budget.ts'
import { takeWrite } from '../../../domain/outbox/budget.ts'
import type { DeliveryAttempt, Delivery } from '../../../domain/outbox/delivery.ts'
import { isOpen } from '../../../domain/outbox/delivery.ts'
import { withoutPreparations, withShown } from '../../../domain/outbox/follow-up.ts'
import { givenUpTarget } from '../../../domain/outbox/merge.ts'
import type { AttemptEnd, Finding } from '../../../domain/outbox/outcome.ts'
import { ofAnEarlierVersion } from '../../../domain/outbox/outcome.ts'
import { priorities } from '../../../domain/outbox/priority.ts'
import { isRepair, kindOf, needsTurn, queueName, turnOf } from '../../../domain/outbox/queue.ts'
import type {
  AttemptReport,
  BeginAnswer,
  BeginRequest,
  DeliveryHold,
} from '../../../store/outbox-store.ts'
import type { Verb } from '../../sql.ts'
import { insertDecision } from '../../tables/audit-table.ts'
import { lockBudget, writeBudget } from '../../tables/budget-table.ts'
import {
  insertAttempt,
  deliveriesAt,
  firstInQueue,
  firstTurn,
  keepLateOutcome,
  lastTurnOf,
  selectDelivery,
  writeOutcome,
} from '../../tables/delivery-table.ts'
import { blockIdentity } from './budgets.ts'
import { repeatCovered } from './repeat-covered.ts'
import type { VerbContext } from '../context.ts'
import { circumstancesOf } from '../context.ts'
import { storeDeliveries } from './store-deliveries.ts'
import { withoutThoseOfOthers } from './those-of-others.ts'

export function* beginAttempt(context: VerbContext, request: BeginRequest): Verb<BeginAnswer> {
  const delivery = yield* selectDelivery(request.hold.deliveryId)
  const { action, versionFence, versionSeq } = request
  if (delivery === null || !isHeld(delivery, request.hold)) return { result: 'lost' }
  const isSame = delivery.versionFence === versionFence && delivery.versionSeq === versionSeq
  // A removal follows a closed one up; everything else is for what is still wanted.
  if (!isSame || (!isOpen(delivery) && action !== 'remove')) {
    // There is a newer version to send instead; whoever holds it comes back for that one.
    const now = context.now()
    yield* storeDeliveries(context, [{ ...delivery, leaseId: null, leasedUntil: null, dueAt: now }])
    return { result: 'changed' }
  }
  const budget = yield* lockBudget(request.identity, context.now())
  const now = context.now()
  if (!request.isTurn && (yield* isBehind(delivery, request.identity))) {
    return { result: 'budget', until: Math.max(now, budget.writesFrom ?? now), why: 'queue' }
  }
  const kind: WriteKind = isOpen(delivery) ? kindOf(delivery) : 'first'
  const grant = takeWrite(budget, request.limits, kind, now)
  yield* writeBudget(grant.budget)
  if (!grant.granted) return { result: 'budget', until: grant.until, why: grant.why }
  const attempt = newAttempt(context.newId('att'), request, now)
  yield* insertAttempt(attempt)
  const announcedFence = action === 'remove' ? delivery.announcedFence : versionFence
  // From here on it may be seen; what may be seen at work has to be closed.
  const { protocol: known } = withoutPreparations(delivery)
  const protocol = delivery.announces ? withShown(delivery, known) : known
  // A message has one version and keeps its turn, however often it is tried.
  const begun = { ...delivery, attemptId: attempt.id, waitsSince: null }
  yield* storeDeliveries(context, [{ ...begun, announcedFence, protocol }])
  return { result: 'begun', attempt }
}

/** Somebody waits already for what it would take. */
function* isBehind(delivery: Delivery, identity: string): Verb<boolean> {
  if (isRepair(delivery)) return false
  const queue = queueName(identity, delivery.channel)
  for (const priority of new Set([priorities.first, priorities[kindOf(delivery)]])) {
    if ((yield* firstInQueue(queue, priority)) !== null) return true
  }
  return false
}

function newAttempt(id: string, request: BeginRequest, now: number): DeliveryAttempt {
  const { action, versionFence, versionSeq, providerId, hold } = request
  return {
    id,
    deliveryId: hold.deliveryId,
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
  hold: DeliveryHold,
  report: AttemptReport,
): Verb<'recorded' | 'late'> {
  const delivery = yield* selectDelivery(hold.deliveryId)
  let causeId = delivery?.causeId ?? null
  if (report.end.what === 'rate_limited' && report.end.isKept !== true) {
    const { until, trouble } = report.end
    const { identity } = report
    causeId = yield* blockIdentity(context, identity, until, trouble.code, 'publisher', delivery)
  }
  const now = context.now()
  const inTime =
    delivery !== null &&
    isHeld(delivery, hold) &&
    delivery.attemptId === report.attempt.id &&
    (yield* writeOutcome(endedAttempt(report, false, now)))
  if (!inTime) {
    yield* keepLate(context, delivery, report)
    return 'late'
  }
  const change = afterAttempt(
    delivery,
    report.attempt,
    report.end,
    circumstancesOf(context, delivery),
  )
  yield* storeDeliveries(context, [change.delivery])
  const [auditId = causeId] = yield* insertDecision(change.audits, causeId, now)
  yield* repeatCovered(context, delivery, change.delivery, auditId)
  return 'recorded'
}

/** Its attempt is recorded as in doubt already; what really came of it is kept beside that. */
function* keepLate(
  context: VerbContext,
  delivery: Delivery | null,
  report: AttemptReport,
): Verb<void> {
  const now = context.now()
  yield* keepLateOutcome(endedAttempt(report, true, now))
  const mayHaveWritten = report.end.what === 'sent' || report.end.what === 'in_doubt'
  if (delivery === null || !mayHaveWritten) return
  const concerned = yield* ownerOf(delivery)
  yield* storeDeliveries(context, [
    afterLateEnd(concerned, report.attempt, circumstancesOf(context, concerned)),
  ])
}

/** One that gave up its target has nothing to look after: whoever has the target does. */
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
  hold: DeliveryHold,
  finding: Finding,
): Verb<'recorded' | 'lost'> {
  const delivery = yield* selectDelivery(hold.deliveryId)
  if (delivery === null || !isHeld(delivery, hold)) return 'lost'
  const { versionFence, versionSeq } = hold
  const isNewest = delivery.versionFence === versionFence && delivery.versionSeq === versionSeq
  const around = circumstancesOf(context, delivery)
  const own = yield* withoutThoseOfOthers(delivery, around.channel, finding)
  const about = isNewest ? own : ofAnEarlierVersion(own)
  const change = afterFinding(delivery, about, around)
  yield* storeDeliveries(context, [yield* inTurn(change.delivery)])
  const { causeId } = delivery
  const [auditId = causeId] = yield* insertDecision(change.audits, causeId, context.now())
  yield* repeatCovered(context, delivery, change.delivery, auditId)
  return 'recorded'
}

function* inTurn(delivery: Delivery): Verb<Delivery> {
  const { queue, runId } = delivery
  if (queue === null || runId === null || !needsTurn(delivery)) return delivery
  const turn = turnOf(yield* firstTurn(queue), yield* lastTurnOf(runId, queue))
  return { ...delivery, turn }
}

/** Stored before it is prepared, so that a preparation nobody comes back from is known of. */
export function* notePreparation(
  context: VerbContext,
  hold: DeliveryHold,
  when: 'begins' | 'ended',
): Verb<'recorded' | 'lost'> {
  const delivery = yield* selectDelivery(hold.deliveryId)
  if (delivery === null || !isHeld(delivery, hold)) return 'lost'
  const preparations = (delivery.protocol.preparations ?? 0) + 1
  const begun = { ...delivery, protocol: { ...delivery.protocol, preparations } }
  yield* storeDeliveries(context, [when === 'begins' ? begun : withoutPreparations(delivery)])
  return 'recorded'
}

const isHeld = (delivery: Delivery, hold: DeliveryHold): boolean =>
  delivery.leaseId === hold.leaseId
