/** What an operator may say about a delivery: send it again, leave it, or that it has arrived. */
import type { Delivery } from './delivery.ts'
import { isLeased, isOpen } from './delivery.ts'
import { close, revokeLease, reopen, withoutTries, withShowsWork } from './protocol/follow-up.ts'
import type { PublishingRules } from './schedule.ts'
import { deadlineFor } from './schedule.ts'

/**
 * One that is being sent this moment is left to whoever sends it: a second request beside the first
 * would double it. One that waits for an earlier message of its run goes on waiting.
 */
export function retryByOperator(delivery: Delivery, now: number, rules: PublishingRules): Delivery {
  const deadlineAt = deadlineFor(delivery.kind, now, rules)
  const wanted = { changedAt: now, deadlineAt, tries: 0 }
  if (isOpen(delivery) && isLeased(delivery, now)) return { ...delivery, ...wanted }
  if (delivery.wait === 'order') return { ...delivery, ...wanted, dueAt: deadlineAt }
  const {
    doubt: _doubt,
    lost: _lost,
    removedFence: _removed,
    ...protocol
  } = withoutTries(delivery.protocol)
  return {
    ...reopen(revokeLease(delivery), now),
    // What was under way when it was closed is looked for once its time is over.
    dueAt: Math.max(now, delivery.attemptId === null ? now : (delivery.leasedUntil ?? now)),
    ...wanted,
    // The operator has looked: what stands there, if anything, is not what has to be sent.
    protocol:
      delivery.wait === 'held'
        ? { ...protocol, looked: true, unsettled: true }
        : protocolKeepingDoubt(delivery),
  }
}

/** Only a person's look at a held one ends a doubt; else we still look for ourselves. */
function protocolKeepingDoubt({ protocol, attemptId }: Delivery): Delivery['protocol'] {
  const { removedFence: _removed, recreatedFence: _recreated, ...rest } = withoutTries(protocol)
  return attemptId === null ? rest : { ...rest, unsettled: true }
}

/** What stands there already still has to be closed when the run ends. */
export function skipByOperator(delivery: Delivery, reason: string, now: number): Delivery {
  const announces = delivery.announces && delivery.protocol.showsWork === true
  return { ...close(revokeLease(delivery), 'SKIPPED', reason, now), announces }
}

export function confirmByOperator(
  delivery: Delivery,
  providerId: string | null,
  now: number,
): Delivery {
  const { doubt, lost: _lost, ...rest } = delivery.protocol
  const { versionFence, versionSeq } = delivery
  // As long as nobody knows which one it is, the next version has to look for it.
  const isKnown = (providerId ?? delivery.providerId) !== null
  const sought = doubt ?? ({ action: 'create', since: delivery.createdAt, looks: 0 } as const)
  const protocol = isKnown ? rest : { ...rest, doubt: sought }
  return close(
    {
      ...revokeLease(delivery),
      protocol: withShowsWork(delivery, protocol),
      providerId: providerId ?? delivery.providerId,
      announcedFence: versionFence,
      sentFence: versionFence,
      sentSeq: versionSeq,
      // We did not see it: an equal content later is no proof that it stands there.
      sentHash: null,
      sentAt: now,
      errorCode: null,
      errorText: null,
    },
    'SENT',
    null,
    now,
  )
}

/** SENT is final for a version, and what another one has taken is not shown any more. */
export function canBeChanged(delivery: Delivery): boolean {
  return delivery.status !== 'SENT' && delivery.reason !== 'target_taken'
}

/** A key came that may verify what stands there: it is looked at again, and held again if not. */
export function lookAgainWithNewKeys(
  delivery: Delivery,
  now: number,
  rules: PublishingRules,
): Delivery {
  // What was sent without an answer is still in doubt; what is from before our time, not looked at.
  const { looked: _looked, ...protocol } = delivery.protocol
  return {
    ...delivery,
    wait: protocol.doubt === undefined ? 'due' : 'in_doubt',
    dueAt: now,
    tries: 0,
    deadlineAt: deadlineFor(delivery.kind, now, rules),
    errorCode: null,
    errorText: null,
    protocol,
  }
}
