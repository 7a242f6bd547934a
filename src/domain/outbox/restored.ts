/**
 * A store that was restored knows less than GitHub shows: whatever was open or under way when the
 * copy was made may have been sent since. So an open one that would be created is in doubt, and
 * equal content is no proof for any of them.
 */
import { isOpen, type Delivery } from './delivery.ts'
import { actionOf } from './move.ts'

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
