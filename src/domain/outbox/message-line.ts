/**
 * The line of a run's messages. Each message waits (`order`) until the one before it has left the
 * line. So they appear in the order in which they were published. A message leaves the line when it
 * is closed. It also leaves when it will not be sent soon: then it waits by itself, and the next
 * message no longer waits for it.
 *
 * What must hold: while a message waits, another message of its run is in the line and does not
 * wait. Whoever takes a message out of the line releases the next one in the same transaction
 * (store-deliveries).
 */
import type { Delivery } from './delivery.ts'
import { isLeased, isOpen } from './delivery.ts'
import { isRepairQueue } from './queue.ts'
import { lastDeadlineOf, type PublishingRules } from './schedule.ts'

/** Longer than the quick retries and the second look after a lost answer take. */
const soonMs = 10_000
const quickTries = 3

export function leaveLineUnlessSending(delivery: Delivery, now: number): Delivery {
  return delivery.line === null || isAboutToBeSent(delivery, now)
    ? delivery
    : { ...delivery, line: null }
}

function isAboutToBeSent(delivery: Delivery, now: number): boolean {
  const { wait, tries, queue, dueAt } = delivery
  if (!isOpen(delivery) || wait === 'held' || wait === 'no_address') return false
  if (tries > quickTries || (queue !== null && isRepairQueue(queue))) return false
  // Its identity may not write now. The later messages have the same identity and would wait too.
  if (wait === 'order' || wait === 'budget' || isLeased(delivery, now)) return true
  return dueAt !== null && dueAt <= now + soonMs
}

/** Puts it behind the last message of the line; the first message of a line is sent at once. */
export function atEndOfLine(delivery: Delivery, last: number | null): Delivery {
  if (last === null) return { ...delivery, line: 0 }
  // If nobody releases it, it is leased at its deadline, so that no open delivery is forgotten.
  const { deadlineAt } = delivery
  return { ...delivery, line: last + 1, wait: 'order', dueAt: deadlineAt }
}

/**
 * The time in the line is added to its deadline, up to a limit. In a queue its place is behind
 * those that wait there now, so that runs take turns.
 */
export function releaseFromLine(delivery: Delivery, now: number, rules: PublishingRules): Delivery {
  const { deadlineAt, changedAt } = delivery
  const last = Math.max(deadlineAt, lastDeadlineOf(delivery, rules))
  const extended = Math.min(deadlineAt + Math.max(0, now - changedAt), last)
  return { ...delivery, wait: 'due', dueAt: now, waitsSince: now, deadlineAt: extended }
}
