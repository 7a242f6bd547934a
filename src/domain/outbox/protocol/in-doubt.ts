/**
 * An attempt whose holder is lost, by a crash or because its lease ran out. Nobody knows what it
 * did. So the delivery is in doubt, and its target has to be read again.
 */
import type { Delivery, DeliveryAttempt } from '../delivery.ts'
import { isOpen } from '../delivery.ts'
import { withPlannedRead, withFollowUpDue, withFollowUpDeadline } from './follow-up.ts'
import type { Circumstances, DeliveryChange } from '../outcome.ts'
import { auditOf } from '../outcome.ts'
import { settleAt } from '../schedule.ts'
import { withFailedSend } from './retry-later.ts'

/** Another process takes the delivery over. If the outcome still comes, it changes nothing. */
export function afterTakeover(
  delivery: Delivery,
  attempt: DeliveryAttempt,
  around: Circumstances,
): DeliveryChange {
  const trouble = {
    code: 'holder_lost',
    text: 'the process that sent it was lost before the answer came',
  }
  const { action, startedAt } = attempt
  if (!isOpen(delivery)) {
    // If the delivery is ever reopened, a look must first find what this attempt did.
    const protocol =
      action === 'remove' ? delivery.protocol : withDoubt(delivery, action, startedAt)
    return {
      delivery: markUnsettled({ ...delivery, protocol }, action === 'create', around),
      audits: [],
    }
  }
  return {
    delivery: {
      ...delivery,
      wait: 'in_doubt',
      protocol: withFailedSend({ ...delivery, protocol: withDoubt(delivery, action, startedAt) })
        .protocol,
      errorCode: trouble.code,
      errorText: trouble.text,
    },
    audits: [
      auditOf(delivery, 'delivery.in_doubt', { ...trouble, action, attempt_id: attempt.id }),
    ],
  }
}

/** The outcome came from a process that had lost the lease, so the target has to be read again. */
export function afterLateEnd(
  delivery: Delivery,
  attempt: DeliveryAttempt,
  around: Circumstances,
): Delivery {
  return markUnsettled(delivery, attempt.action === 'create', around)
}

/**
 * A request may still arrive late: the target is read again, and scanned if there may be two
 * copies.
 */
export function markUnsettled(
  delivery: Delivery,
  mayBeTwo: boolean,
  { now, rules, channel }: Circumstances,
): Delivery {
  const marked = { ...delivery.protocol, unsettled: true as const }
  const scan = mayBeTwo && channel.keptCopy !== null ? { step: 0, at: now + 1000 } : null
  const scanned = scan === null ? marked : withPlannedRead(marked, 'scan', scan)
  if (isOpen(delivery)) return { ...delivery, protocol: scanned }
  const at = settleAt(0, now, rules)
  const settle = delivery.kind === 'state' && at !== null ? { step: 0, at } : null
  const protocol = settle === null ? scanned : withPlannedRead(scanned, 'settle', settle)
  return withFollowUpDeadline(delivery, withFollowUpDue({ ...delivery, protocol }, now), now, rules)
}

/** `since` stays that of the oldest unanswered attempt, so that a look finds all of them. */
export function withDoubt(
  delivery: Delivery,
  action: DeliveryAttempt['action'],
  since: number,
): Delivery['protocol'] {
  const { protocol } = delivery
  const doubt = { action, since: protocol.doubt?.since ?? since, looks: 0 }
  return { ...protocol, unsettled: true, doubt }
}
