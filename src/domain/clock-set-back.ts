/**
 * Corrects stored times after the clock was set back. While the clock was ahead, it wrote times
 * that are now too far in the future: lease ends, retries, blocks. Each is cut to the latest time
 * that it could have if it were written now.
 *
 * What must hold: nobody loses a lease (a full lease from now on remains), and nothing is sent that
 * would not have been sent later anyway.
 */
import type { Budget } from './outbox/budget.ts'
import type { Delivery, ProtocolState } from './outbox/delivery.ts'
import type { PublishingRules } from './outbox/schedule.ts'
import { isHeldForPerson, type Run } from './run.ts'
import { heldStepMs } from './step.ts'

export interface SetBack {
  readonly now: number
  /** By how much the clock went back, as far as we noticed. */
  readonly byMs: number
}

/** A due step checks everything again, so one step too many does no harm. */
const lookAgainMs = 60_000
const dayMs = 86_400_000

/** Answers the same object when none of its times is too far ahead. */
export function runAfterSetBack(run: Run, { now }: SetBack): Run {
  const { leaseExpiresAt, deadlineAt, dueAt, availableAt } = run
  return changed(run, {
    leaseExpiresAt: atMost(leaseExpiresAt, now + run.leaseMs),
    deadlineAt: atMost(deadlineAt, now + run.timeoutMs),
    dueAt: atMost(dueAt, now + waitMsOf(run)),
    availableAt: atMost(availableAt, now),
  })
}

function waitMsOf(run: Run): number {
  if (isHeldForPerson(run)) return heldStepMs
  return run.state === 'pending' ? run.pendingTimeoutMs : run.leaseMs
}

/** Answers the same object when none of its times is too far ahead. */
export function deliveryAfterSetBack(
  delivery: Delivery,
  setBack: SetBack,
  rules: PublishingRules,
): Delivery {
  const { now } = setBack
  const protocol = protocolAfterSetBack(delivery.protocol, setBack, rules)
  return changed(delivery, {
    dueAt: atMost(delivery.dueAt, now + waitMsMaxOf(delivery, rules)),
    leasedUntil: atMost(delivery.leasedUntil, now + rules.deliveryLeaseMs),
    deadlineAt: Math.min(delivery.deadlineAt, now + rules.deadlineMs[delivery.kind]),
    createdAt: Math.min(delivery.createdAt, now),
    changedAt: Math.min(delivery.changedAt, now),
    waitsSince: atMost(delivery.waitsSince, now),
    sentAt: atMost(delivery.sentAt, now),
    shownSince: atMost(delivery.shownSince, now),
    protocol,
  })
}

/**
 * The maximum wait. With `budget` it is due now, because the budget decides again. With `order` the
 * message before it releases it, at the latest at the deadline.
 */
function waitMsMaxOf({ wait, kind }: Delivery, { deadlineMs }: PublishingRules): number {
  if (wait === 'budget') return 0
  return wait === 'order' ? deadlineMs[kind] : lookAgainMs
}

function protocolAfterSetBack(
  protocol: ProtocolState,
  { now, byMs }: SetBack,
  rules: PublishingRules,
): ProtocolState {
  const { scan, settle, doubt } = protocol
  const last = now + Math.max(...rules.scanAfterMs, ...rules.settleAfterMs)
  const isOff = [scan, settle].some((appointment) => (appointment?.at ?? 0) > last)
  const isAhead = doubt !== undefined && doubt.since > now
  if (!isOff && !isAhead) return protocol
  return {
    ...protocol,
    ...(scan !== undefined && { scan: { ...scan, at: Math.min(scan.at, last) } }),
    ...(settle !== undefined && { settle: { ...settle, at: Math.min(settle.at, last) } }),
    // A look that starts too late would not find what is there, and it would be sent twice.
    ...(isAhead && { doubt: { ...doubt, since: Math.min(doubt.since - byMs, now) - dayMs } }),
  }
}

/** Moves its times back by as much as the clock was ahead, so that each wait keeps its length. */
export function budgetAfterSetBack(budget: Budget, { now }: SetBack): Budget {
  const aheadMs = budget.updatedAt - now
  if (aheadMs <= 0) return budget
  const { blockedUntil, lastWriteAt, writesFrom, progressFrom, furtherFrom } = budget
  const sooner = (at: number | null): number | null => (at === null ? null : at - aheadMs)
  return {
    ...budget,
    blockedUntil: sooner(blockedUntil),
    writesFrom: sooner(writesFrom),
    progressFrom: sooner(progressFrom),
    furtherFrom: sooner(furtherFrom),
    lastWriteAt: atMost(lastWriteAt, now),
    updatedAt: now,
  }
}

function atMost(at: number | null, limit: number): number | null {
  return at === null ? null : Math.min(at, limit)
}

function changed<T extends object>(before: T, parts: Partial<T>): T {
  const keys = Object.keys(parts) as (keyof T)[]
  return keys.every((key) => parts[key] === before[key]) ? before : { ...before, ...parts }
}
