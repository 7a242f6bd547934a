/** What an operator may do with a delivery: retry it, skip it, or confirm that it arrived. */
import type { Delivery } from './delivery.ts'
import { isLeased, isOpen } from './delivery.ts'
import { close, revokeLease, reopen, withoutTries, withShowsWork } from './protocol/follow-up.ts'
import type { PublishingRules } from './schedule.ts'
import { deadlineFor } from './schedule.ts'

/**
 * A delivery that is being sent now stays with the process that sends it: a second request would
 * send it twice. A message that waits in its run's line keeps waiting.
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
    // An attempt without an outcome is looked for after its lease is over.
    dueAt: Math.max(now, delivery.attemptId === null ? now : (delivery.leasedUntil ?? now)),
    ...wanted,
    // The operator has looked: what is there, if anything, is not this delivery's output.
    protocol:
      delivery.wait === 'held'
        ? { ...protocol, looked: true, unsettled: true }
        : protocolKeepingDoubt(delivery),
  }
}

/** Only an operator's look at a held delivery ends a doubt. Otherwise the publisher still looks. */
function protocolKeepingDoubt({ protocol, attemptId }: Delivery): Delivery['protocol'] {
  const { removedFence: _removed, recreatedFence: _recreated, ...rest } = withoutTries(protocol)
  return attemptId === null ? rest : { ...rest, unsettled: true }
}

/** If it already shows work in progress, it must still be closed when the run ends. */
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
  // While its id is unknown, the next version has to look for it.
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
      // We did not see it, so equal content later is no proof that it is shown.
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

/** SENT is final for a version. A delivery whose target was taken is no longer shown. */
export function canBeChanged(delivery: Delivery): boolean {
  return delivery.status !== 'SENT' && delivery.reason !== 'target_taken'
}

/** A new key may verify the marker that is there. It is looked at again, and held again if not. */
export function lookAgainWithNewKeys(
  delivery: Delivery,
  now: number,
  rules: PublishingRules,
): Delivery {
  // An unanswered send is still in doubt. Otherwise `look-first` must run again.
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
