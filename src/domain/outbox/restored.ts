/**
 * A store that was restored knows less than GitHub shows: whatever was open or under way when the
 * copy was made may have been sent since. So an open one that would be created is in doubt, and
 * equal content is no proof for any of them. What was shown lately may have been shown anew since,
 * as by a rerun that the copy knows nothing of: it is read again once, and put right.
 */
import { isOpen, type Delivery, type Restored } from './delivery.ts'
import { withAppointment, withDue } from './follow-up.ts'
import { actionOf } from './move.ts'
import type { PublishingRules } from './schedule.ts'
import { deadlineFor } from './schedule.ts'

export function afterRestore(delivery: Delivery, now: number): Delivery {
  const { looked: _looked, ...memo } = delivery.memo
  const unsettled = { ...delivery, memo: { ...memo, unsettled: true as const } }
  const isUnknown = isOpen(delivery) && delivery.wait !== 'held' && memo.doubt === undefined
  if (!isUnknown || actionOf(delivery) !== 'create') return unsettled
  const doubt = { action: 'create', since: delivery.createdAt, looks: 0 } as const
  return {
    ...unsettled,
    wait: 'in_doubt',
    dueAt: now,
    memo: { ...unsettled.memo, doubt },
  }
}

/** People set and take off labels as they like: what they did since stays. */
export function isReadAgain({ status, kind, channel }: Delivery): boolean {
  return status === 'SENT' && kind === 'state' && channel !== 'github-label'
}

export function readAgain(
  delivery: Delivery,
  at: number,
  restored: Restored,
  rules: PublishingRules,
): Delivery {
  // Its last step: one read is enough, for nothing is on its way.
  const step = Math.max(0, rules.settleAfterMs.length - 1)
  const memo = withAppointment({ ...delivery.memo, restored }, 'settle', { step, at })
  const deadlineAt = Math.max(delivery.deadlineAt, deadlineFor(delivery.kind, at, rules))
  return withDue({ ...delivery, deadlineAt, memo }, at)
}
