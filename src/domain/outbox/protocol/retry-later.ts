/**
 * What follows when a step did not succeed: it is tried again later, it waits for its identity, or
 * it has failed. Every wait ends: after the last retry, at the deadline, or at the last time until
 * which a version may be open (`lastDeadlineOf`).
 */
import type { Delivery } from '../delivery.ts'
import { isOpen } from '../delivery.ts'
import { close } from './follow-up.ts'
import type { Circumstances, DeliveryChange, Trouble } from '../outcome.ts'
import { auditOf } from '../outcome.ts'
import { inQueue } from '../queue.ts'
import { backoffMs, lastDeadlineOf, retryRulesOf, type PublishingRules } from '../schedule.ts'

/** It was sent, and certainly nothing was done. */
export function sendLater(
  delivery: Delivery,
  trouble: Trouble,
  after: number | null,
  around: Circumstances,
): DeliveryChange {
  const counted = withFailedSend(delivery)
  return hasNoRetriesLeft(counted, around.rules)
    ? failWithoutRetries(counted, trouble, around)
    : retryLater(counted, trouble, after, around)
}

export function withFailedSend(delivery: Delivery): Delivery {
  const { protocol } = delivery
  return { ...delivery, protocol: { ...protocol, failedSends: (protocol.failedSends ?? 0) + 1 } }
}

/** It was sent again as often as its channel's setting allows. */
export function hasNoRetriesLeft(delivery: Delivery, rules: PublishingRules): boolean {
  const { retriesMax } = retryRulesOf(delivery, rules)
  return (
    isOpen(delivery) && retriesMax !== null && (delivery.protocol.failedSends ?? 0) > retriesMax
  )
}

export function failWithoutRetries(
  delivery: Delivery,
  { text }: Trouble,
  around: Circumstances,
): DeliveryChange {
  return fail(delivery, { code: 'retries_exhausted', text }, around)
}

export function retryLater(
  delivery: Delivery,
  trouble: Trouble,
  after: number | null,
  { now, jitter, rules }: Circumstances,
): DeliveryChange {
  const tries = delivery.tries + 1
  const waitMs = backoffMs(tries, jitter, retryRulesOf(delivery, rules))
  const dueAt = Math.max(now + waitMs, after ?? 0)
  if (dueAt > delivery.deadlineAt) return failPastDeadline(delivery, trouble, now)
  const { code, text } = trouble
  const wait = isOpen(delivery) ? 'backoff' : null
  return {
    delivery: { ...delivery, tries, wait, dueAt, errorCode: code, errorText: text },
    audits: [
      auditOf(delivery, 'delivery.retry_scheduled', { ...trouble, tries, at: isoTime(dueAt) }),
    ],
  }
}

/** A failed look changes nothing about the doubt. */
export function lookLater(
  delivery: Delivery,
  trouble: Trouble,
  after: number | null,
  around: Circumstances,
): DeliveryChange {
  const change = retryLater(delivery, trouble, after, around)
  const { wait } = delivery
  return isOpen(change.delivery) ? { ...change, delivery: { ...change.delivery, wait } } : change
}

/** Null if it was refused so often that the refusal counts as final. */
export function retryUnclear(
  delivery: Delivery,
  trouble: Trouble,
  { now, rules }: Circumstances,
): DeliveryChange | null {
  const unclear = (delivery.protocol.unclear ?? 0) + 1
  const waitMs = rules.unclearAfterMs[unclear - 1]
  if (waitMs === undefined || !isOpen(delivery)) return null
  const tries = delivery.tries + 1
  const dueAt = now + waitMs
  if (dueAt > delivery.deadlineAt) return failPastDeadline(delivery, trouble, now)
  const { code, text } = trouble
  const protocol = { ...delivery.protocol, unclear }
  return {
    delivery: {
      ...delivery,
      protocol,
      tries,
      wait: 'backoff',
      dueAt,
      errorCode: code,
      errorText: text,
    },
    audits: [
      auditOf(delivery, 'delivery.retry_scheduled', { ...trouble, tries, at: isoTime(dueAt) }),
    ],
  }
}

/** `counted`: the preparation was counted in the store before it began. */
export function prepareLater(
  delivery: Delivery,
  trouble: Trouble,
  counted: boolean,
  around: Circumstances,
): DeliveryChange {
  const preparations = (delivery.protocol.preparations ?? 0) + (counted ? 0 : 1)
  const withCount = { ...delivery, protocol: { ...delivery.protocol, preparations } }
  if (preparations >= around.rules.preparationsMax) return fail(withCount, trouble, around)
  return lookLater(withCount, trouble, null, around)
}

export function failPastDeadline(
  delivery: Delivery,
  trouble: Trouble,
  now: number,
): DeliveryChange {
  const { code, text } = trouble
  if (!isOpen(delivery)) return endFollowUps(delivery, trouble)
  const failed = close({ ...delivery, errorCode: code, errorText: text }, 'FAILED', 'deadline', now)
  return {
    delivery: failed,
    audits: [auditOf(delivery, 'delivery.failed', { reason: 'deadline', ...trouble })],
  }
}

/** The target can no longer be read, so the last known state of it stays. */
export function endFollowUps(delivery: Delivery, trouble: Trouble): DeliveryChange {
  const { code, text } = trouble
  const withError = { ...withoutFollowUps(delivery), errorCode: code, errorText: text }
  const data = { reason: 'deadline', ...trouble, provider_id: delivery.providerId, shows: null }
  return {
    delivery: { ...withError, tries: 0, dueAt: null },
    audits: [auditOf(delivery, 'delivery.settled', data)],
  }
}

export function fail(delivery: Delivery, trouble: Trouble, { now }: Circumstances): DeliveryChange {
  const { code, text } = trouble
  const withError = { ...delivery, errorCode: code, errorText: text }
  // A closed delivery keeps its status if a follow-up fails.
  if (!isOpen(delivery)) {
    return { delivery: { ...withoutFollowUps(withError), dueAt: null }, audits: [] }
  }
  return {
    delivery: close(withError, 'FAILED', code, now),
    audits: [auditOf(delivery, 'delivery.failed', { reason: code, text })],
  }
}

export function withoutFollowUps(delivery: Delivery): Delivery {
  const { scan: _scan, settle: _settle, surplus: _surplus, ...rest } = delivery.protocol
  // The check after a restore is given up too: a later loss counts as a loss.
  const { restored: _restored, ...protocol } = rest
  return { ...delivery, protocol }
}

/**
 * The identity is blocked, not this delivery, so no try is counted. The deadline of an open
 * delivery moves by the wait, up to a limit. The follow-ups of a closed one end at its deadline.
 */
export function waitForIdentity(
  delivery: Delivery,
  until: number,
  { now, rules }: Circumstances,
): DeliveryChange {
  const { wait, deadlineAt } = delivery
  if (!isOpen(delivery)) {
    if (until > deadlineAt) return endFollowUps(delivery, blocked)
    return { delivery: { ...delivery, dueAt: until }, audits: [] }
  }
  const last = lastDeadlineOf(delivery, rules)
  if (now >= last) return failPastDeadline(delivery, blocked, now)
  const waiting: Delivery = {
    ...delivery,
    wait: wait === 'in_doubt' ? wait : 'budget',
    dueAt: Math.min(until, last),
    deadlineAt: Math.min(deadlineAt + Math.max(0, until - now), last),
  }
  return { delivery: waiting, audits: [] }
}

/**
 * It waits in the queue until a slot is free. A closed delivery can only wait in a repair queue.
 */
export function waitInQueue(delivery: Delivery, queue: string, now: number): DeliveryChange {
  const wait = isOpen(delivery) && delivery.wait !== 'in_doubt' ? 'budget' : delivery.wait
  return { delivery: { ...inQueue(delivery, queue), wait, dueAt: now }, audits: [] }
}

/** The time in a queue is added to its deadline, up to a limit. */
export function withTimeInQueue(delivery: Delivery, now: number, rules: PublishingRules): Delivery {
  const { queue, dueAt, deadlineAt } = delivery
  if (queue === null) return delivery
  const waitedMs = Math.max(0, now - (dueAt ?? now))
  const last = Math.max(deadlineAt, lastDeadlineOf(delivery, rules))
  return { ...delivery, queue: null, deadlineAt: Math.min(deadlineAt + waitedMs, last) }
}

const blocked: Trouble = { code: 'blocked', text: 'GitHub blocked our writes for too long' }

const isoTime = (ms: number): string => new Date(ms).toISOString()
