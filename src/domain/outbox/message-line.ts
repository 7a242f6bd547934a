/**
 * The line of a run's messages. Each waits (`order`) until the one before it has left the line, so
 * that they appear in the order in which they were published. A message leaves when it is closed,
 * and also when it is not about to be sent: then it goes on by itself, outside the line, and the
 * next one does not wait for it any longer.
 *
 * What must hold: while one waits, another of its run is in the line and does not wait. Whoever
 * takes one out of the line lets the next one go in the same transaction (store-deliveries).
 */
import type { Delivery } from './delivery.ts'
import { isLeased, isOpen } from './delivery.ts'
import { isRepairQueue } from './queue.ts'
import { lastDeadlineOf, type PublishingRules } from './schedule.ts'

/** The quick retries and the second look after a lost answer are over by then. */
const soonMs = 10_000
const quickTries = 3

/** Its place is null once it has left. */
export function leaveLineUnlessSending(delivery: Delivery, now: number): Delivery {
  return delivery.line === null || isAboutToBeSent(delivery, now)
    ? delivery
    : { ...delivery, line: null }
}

function isAboutToBeSent(delivery: Delivery, now: number): boolean {
  const { wait, tries, queue, dueAt } = delivery
  if (!isOpen(delivery) || wait === 'held' || wait === 'no_address') return false
  if (tries > quickTries || (queue !== null && isRepairQueue(queue))) return false
  // Whatever keeps its identity from writing keeps the later ones from it, too.
  if (wait === 'order' || wait === 'budget' || isLeased(delivery, now)) return true
  return dueAt !== null && dueAt <= now + soonMs
}

/** Behind the last of the line; the first of a line goes at once. */
export function atEndOfLine(delivery: Delivery, last: number | null): Delivery {
  if (last === null) return { ...delivery, line: 0 }
  // Should nobody let it go, it is taken up at its deadline: nothing that is open is ever hidden.
  const { deadlineAt } = delivery
  return { ...delivery, line: last + 1, wait: 'order', dueAt: deadlineAt }
}

/**
 * The time it waited is not its own: its deadline waits too, but not for ever. In a queue it stands
 * behind those who wait there by now, so that the runs take turns.
 */
export function releaseFromLine(delivery: Delivery, now: number, rules: PublishingRules): Delivery {
  const { deadlineAt, changedAt } = delivery
  const last = Math.max(deadlineAt, lastDeadlineOf(delivery, rules))
  const extended = Math.min(deadlineAt + Math.max(0, now - changedAt), last)
  return { ...delivery, wait: 'due', dueAt: now, waitsSince: now, deadlineAt: extended }
}
