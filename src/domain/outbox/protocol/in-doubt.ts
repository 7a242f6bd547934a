/**
 * An attempt whose holder is gone: a crash, or a lease that ran out. What it did is not known, so
 * the delivery is in doubt and its target has to be read again.
 */
import type { Delivery, DeliveryAttempt } from '../delivery.ts'
import { isOpen } from '../delivery.ts'
import { withPlannedRead, withFollowUpDue, withFollowUpDeadline } from './follow-up.ts'
import type { Circumstances, DeliveryChange } from '../outcome.ts'
import { auditOf } from '../outcome.ts'
import { settleAt } from '../schedule.ts'
import { withFailedSend } from './retry-later.ts'

/**
 * Whoever had it is gone, and what it did is not known: a crash, or a lease that ran out. The late
 * outcome, should it come, changes nothing any more.
 */
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
    // Should it ever be taken up again, what may have come of this is looked for first.
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

/** The outcome of somebody who had lost the lease: what stands there has to be looked at again. */
export function afterLateEnd(
  delivery: Delivery,
  attempt: DeliveryAttempt,
  around: Circumstances,
): Delivery {
  return markUnsettled(delivery, attempt.action === 'create', around)
}

/** Something may still arrive there: it is read again, and searched where it may stand twice. */
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

/** The oldest attempt that nobody answered is the one to look for. */
export function withDoubt(
  delivery: Delivery,
  action: DeliveryAttempt['action'],
  since: number,
): Delivery['protocol'] {
  const { protocol } = delivery
  const doubt = { action, since: protocol.doubt?.since ?? since, looks: 0 }
  return { ...protocol, unsettled: true, doubt }
}
