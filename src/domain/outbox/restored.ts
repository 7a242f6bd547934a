/**
 * A store that was restored knows less than GitHub shows: whatever was open or under way when the
 * copy was made may have been sent since. So an open one that would be created is in doubt, and
 * equal content is no proof for any of them. What was shown lately may have been shown anew since,
 * as by a rerun that the copy knows nothing of: it is read again once, and put right; so is what
 * was over before anything of it was shown. And what is claimed again, because its event came back,
 * may stand there already, at work for ever, or come late.
 */
import type { Run } from '../run.ts'
import { isOpen, type Delivery, type ProtocolState, type Restored } from './delivery.ts'
import { free, withAppointment, withDue } from './follow-up.ts'
import { isAnnouncement } from './announce.ts'
import type { ChannelDeclaration } from './channel-declaration.ts'
import { actionOf } from './next-step.ts'
import type { PublishingRules } from './schedule.ts'
import { deadlineFor, scanAt } from './schedule.ts'

export function afterRestore(
  delivery: Delivery,
  channel: ChannelDeclaration,
  now: number,
  rules: PublishingRules,
): Delivery {
  const { looked: _looked, ...protocol } = delivery.protocol
  // What is created each time may have been said again: nothing else looks before it is sent.
  const isCreated = channel.replacedBy === 'create' && protocol.doubt === undefined
  // Of one that was said before, the newest is what shows, be it the one we know.
  const action = isCreated && delivery.providerId !== null ? 'edit' : 'create'
  const doubt = { action, since: delivery.createdAt, looks: 0 } as const
  const unsettled = {
    ...delivery,
    protocol: {
      ...protocol,
      ...(delivery.status === 'SKIPPED' && { showsWork: true as const }),
      // Once it is said anew, equal words count again: each is one more for all to see.
      ...(isCreated ? { doubt, restored: { laterKeys: [] } } : { unsettled: true as const }),
    },
    sentHash: isCreated ? null : delivery.sentHash,
  }
  if (!isOpen(delivery) || actionOf(delivery, channel) !== 'create') return unsettled
  const searched = { ...unsettled, protocol: withSearch(unsettled, channel, now, rules) }
  if (delivery.wait === 'held' || protocol.doubt !== undefined) return searched
  // Each is looked for by itself, whatever was published before it.
  const alone = { ...takenBack(searched, now), line: null }
  return { ...alone, wait: 'in_doubt', protocol: { ...searched.protocol, doubt } }
}

/**
 * A server may be at work beside this. What it is sending stays with it until its lease is over:
 * whoever looked before that would not find it, and send it again. What it has not begun to send
 * is taken from it, for it does not know that it has to look first.
 */
function takenBack(delivery: Delivery, now: number): Delivery {
  if (delivery.attemptId === null) return { ...free(delivery), dueAt: now }
  return { ...delivery, dueAt: Math.max(now, delivery.leasedUntil ?? now) }
}

/** Of two that were sent, the one that is found may be the second; the first may come yet. */
function withSearch(
  delivery: Delivery,
  channel: ChannelDeclaration,
  now: number,
  rules: PublishingRules,
): ProtocolState {
  const at = scanAt(0, now, rules)
  if (channel.keptCopy === null || at === null) return delivery.protocol
  return withAppointment(delivery.protocol, 'scan', { step: 0, at })
}

/**
 * What was shown, and what would have been the first word there. What people set as well stays as
 * they have set it since.
 */
export function isReadAgain(delivery: Delivery, { replacedBy }: ChannelDeclaration): boolean {
  if (delivery.kind !== 'state' || replacedBy === 'set') return false
  return delivery.status === 'SENT' || isUnsaid(delivery)
}

/** It was over before anything was shown: whatever stands there was shown since. */
export function isUnsaid({ status, reason, providerId }: Delivery): boolean {
  return status === 'SKIPPED' && reason === 'never_announced' && providerId === null
}

export function readAgain(
  delivery: Delivery,
  at: number,
  restored: Restored,
  rules: PublishingRules,
): Delivery {
  // Its last step: one read is enough, for nothing is on its way.
  const step = Math.max(0, rules.settleAfterMs.length - 1)
  const protocol = withAppointment({ ...delivery.protocol, restored }, 'settle', { step, at })
  const deadlineAt = Math.max(delivery.deadlineAt, deadlineFor(delivery.kind, at, rules))
  return withDue({ ...delivery, deadlineAt, protocol }, at)
}

/** For so long what was forgotten comes back by itself: GitHub keeps its record of events. */
const comesBackMs = 3 * 24 * 3_600_000
/** By how much GitHub's clock may be ahead of the store's. */
const aheadMs = 15 * 60_000

/** Its event is older than the restore, so it may have been claimed and shown before that, too. */
export function mayBeForgotten(
  { lastEventAt }: Pick<Run, 'lastEventAt'>,
  restoredAt: number | null,
  now: number,
): boolean {
  if (restoredAt === null || now - restoredAt > comesBackMs) return false
  return lastEventAt === null || lastEventAt < restoredAt + aheadMs
}

/** A first version: what stands there is found before it is said again, and closed in the end. */
export function afterForgetting(
  delivery: Delivery,
  { run: { lastEventAt }, wanted: { channel }, forgotten }: Forgettable,
  now: number,
  rules: PublishingRules,
): Delivery {
  if (forgotten === undefined) return delivery
  const hasLater = channel.covering !== undefined && isAnnouncement(channel, delivery)
  const restored = hasLater ? forgotten : { laterKeys: [] }
  const protocol = {
    ...withSearch(delivery, channel, now, rules),
    showsWork: true,
    restored,
  } as const
  // The others are looked for anyway, on a thread that is older than the restore.
  if (channel.replacedBy !== 'create') return { ...delivery, protocol }
  const since = (lastEventAt ?? delivery.createdAt - comesBackMs) - aheadMs
  const doubt = { action: 'create', since, looks: 0 } as const
  return { ...delivery, wait: 'in_doubt', protocol: { ...protocol, doubt } }
}

interface Forgettable {
  readonly run: Pick<Run, 'lastEventAt'>
  readonly wanted: { readonly channel: ChannelDeclaration }
  readonly forgotten?: Restored
}
