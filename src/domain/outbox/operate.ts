/** What an operator may say about a delivery: send it again, leave it, or that it has arrived. */
import type { Delivery } from './delivery.ts'
import { isOpen } from './delivery.ts'
import { close, free, withShown } from './follow-up.ts'
import { deadlineFor } from './schedule.ts'

/** Whoever holds it now will be told that it came too late. */
export function sendAgain(delivery: Delivery, now: number): Delivery {
  const { doubt: _doubt, lost: _lost, removedFence: _removed, ...memo } = delivery.memo
  return {
    ...free(delivery),
    status: 'PENDING',
    reason: null,
    wait: 'due',
    closedAt: null,
    priority: 0,
    dueAt: now,
    tries: 0,
    deadlineAt: deadlineFor(delivery.kind, now),
    // The operator has looked: what stands there, if anything, is not what has to be sent.
    memo:
      delivery.wait === 'held' ? { ...memo, looked: true, unsettled: true } : keptDoubt(delivery),
  }
}

/** Only a person's look at a held one ends a doubt; else we still look for ourselves. */
function keptDoubt({ memo, attemptId }: Delivery): Delivery['memo'] {
  const { removedFence: _removed, recreatedFence: _recreated, ...rest } = memo
  return attemptId === null ? rest : { ...rest, unsettled: true }
}

export function leaveIt(delivery: Delivery, reason: string, now: number): Delivery {
  return { ...close(free(delivery), 'SKIPPED', reason, now), announces: false }
}

export function hasArrived(delivery: Delivery, providerId: string | null, now: number): Delivery {
  const { doubt: _doubt, lost: _lost, ...memo } = delivery.memo
  const { versionFence, versionSeq } = delivery
  return close(
    {
      ...free(delivery),
      memo: withShown(delivery, memo),
      providerId: providerId ?? delivery.providerId,
      announcedFence: versionFence,
      sentFence: versionFence,
      sentSeq: versionSeq,
      sentAt: now,
      errorCode: null,
      errorText: null,
    },
    'SENT',
    null,
    now,
  )
}

/** SENT is final for a version. */
export function maySendAgain(delivery: Delivery): boolean {
  return delivery.status === 'FAILED' || delivery.status === 'SKIPPED' || isOpen(delivery)
}
