/**
 * What follows for deliveries when a copy of the store was restored. GitHub then shows more than
 * the store knows:
 *
 * - A delivery that was open when the copy was made may have been sent since. If it would be
 *   created, it is in doubt. Equal content is no proof for any of them.
 * - An output that was shown recently may have changed since, for example by a rerun that the copy
 *   does not know. It is read once and corrected. So is a delivery that was skipped before anything
 *   was shown.
 * - A run that is claimed again, because its event came again, may already be shown as in progress,
 *   or its output may arrive late.
 */
import type { Run } from '../run.ts'
import { isAnnouncement } from './announce.ts'
import type { ChannelDeclaration } from './channel-declaration.ts'
import { isOpen, type Delivery, type ProtocolState, type RestoreCheck } from './delivery.ts'
import { withFollowUpDue, withoutLease, withPlannedRead } from './protocol/follow-up.ts'
import { actionOf } from './protocol/next-step.ts'
import type { PublishingRules } from './schedule.ts'
import { deadlineFor, scanAt } from './schedule.ts'

export function afterRestore(
  delivery: Delivery,
  channel: ChannelDeclaration,
  now: number,
  rules: PublishingRules,
): Delivery {
  const { looked: _looked, ...protocol } = delivery.protocol
  // Every version of such a channel is a new create, and nothing else looks before it is sent.
  const isCreated = channel.replacedBy === 'create' && protocol.doubt === undefined
  // If one was sent before, the newest on GitHub is shown, and it may be the one we know.
  const action = isCreated && delivery.providerId !== null ? 'edit' : 'create'
  const doubt = { action, since: delivery.createdAt, looks: 0 } as const
  const unsettled = {
    ...delivery,
    protocol: {
      ...protocol,
      ...(delivery.status === 'SKIPPED' && { showsWork: true as const }),
      // After the next send, equal content counts as proof again, because each send is visible.
      ...(isCreated ? { doubt, restored: { laterKeys: [] } } : { unsettled: true as const }),
    },
    sentHash: isCreated ? null : delivery.sentHash,
  }
  if (!isOpen(delivery) || actionOf(delivery, channel) !== 'create') return unsettled
  const scanned = { ...unsettled, protocol: withScan(unsettled, channel, now, rules) }
  if (delivery.wait === 'held' || protocol.doubt !== undefined) return scanned
  // Each message is looked for by itself, so it leaves its run's line.
  const outsideLine = { ...withoutUnsentLease(scanned, now), line: null }
  return { ...outsideLine, wait: 'in_doubt', protocol: { ...scanned.protocol, doubt } }
}

/**
 * A server may be running at the same time. A delivery that it is sending stays with it until its
 * lease is over: a look before that might not find it, and it would be sent twice. A delivery that
 * it has not begun to send is taken from it, because it does not know that it must look first.
 */
function withoutUnsentLease(delivery: Delivery, now: number): Delivery {
  if (delivery.attemptId === null) return { ...withoutLease(delivery), dueAt: now }
  return { ...delivery, dueAt: Math.max(now, delivery.leasedUntil ?? now) }
}

/** If two were sent, the one that is found may be the second, and the first may arrive later. */
function withScan(
  delivery: Delivery,
  channel: ChannelDeclaration,
  now: number,
  rules: PublishingRules,
): ProtocolState {
  const at = scanAt(0, now, rules)
  if (channel.keptCopy === null || at === null) return delivery.protocol
  return withPlannedRead(delivery.protocol, 'scan', { step: 0, at })
}

/**
 * An output that was shown, or that was skipped before it was shown. A value that people can set
 * too is left as they have set it.
 */
export function mustBeReadAgain(delivery: Delivery, { replacedBy }: ChannelDeclaration): boolean {
  if (delivery.kind !== 'state' || replacedBy === 'set') return false
  return delivery.status === 'SENT' || wasNeverShown(delivery)
}

/** The run ended before anything was shown. If something is there, it was shown after the copy. */
export function wasNeverShown({ status, reason, providerId }: Delivery): boolean {
  return status === 'SKIPPED' && reason === 'never_announced' && providerId === null
}

export function planRead(
  delivery: Delivery,
  at: number,
  restored: RestoreCheck,
  rules: PublishingRules,
): Delivery {
  // It starts with the last step, because one read is enough: no request is under way.
  const step = Math.max(0, rules.settleAfterMs.length - 1)
  const protocol = withPlannedRead({ ...delivery.protocol, restored }, 'settle', { step, at })
  const deadlineAt = Math.max(delivery.deadlineAt, deadlineFor(delivery.kind, at, rules))
  return withFollowUpDue({ ...delivery, deadlineAt, protocol }, at)
}

/**
 * GitHub keeps its record of events for so long, so a forgotten event can come again until then.
 */
const eventsKeptMs = 3 * 24 * 3_600_000
/** How far GitHub's clock may be ahead of the store's. */
const clockAheadMs = 15 * 60_000

/** The run's event is older than the restore, so the run may have been claimed and shown before. */
export function mayHaveForgotten(
  { lastEventAt }: Pick<Run, 'lastEventAt'>,
  restoredAt: number | null,
  now: number,
): boolean {
  if (restoredAt === null || now - restoredAt > eventsKeptMs) return false
  return lastEventAt === null || lastEventAt < restoredAt + clockAheadMs
}

/** For a first version: what may already be there is found before anything is created. */
export function lookForForgotten(
  delivery: Delivery,
  { run: { lastEventAt }, wanted: { channel }, forgotten }: FirstOutput,
  now: number,
  rules: PublishingRules,
): Delivery {
  if (forgotten === undefined) return delivery
  const hasLater = channel.repeatWhenHidden !== undefined && isAnnouncement(channel, delivery)
  const restored = hasLater ? forgotten : { laterKeys: [] }
  const protocol = {
    ...withScan(delivery, channel, now, rules),
    showsWork: true,
    restored,
  } as const
  // Other channels look before the first create anyway, on a thread older than the restore.
  if (channel.replacedBy !== 'create') return { ...delivery, protocol }
  const since = (lastEventAt ?? delivery.createdAt - eventsKeptMs) - clockAheadMs
  const doubt = { action: 'create', since, looks: 0 } as const
  return { ...delivery, wait: 'in_doubt', protocol: { ...protocol, doubt } }
}

interface FirstOutput {
  readonly run: Pick<Run, 'lastEventAt'>
  readonly wanted: { readonly channel: ChannelDeclaration }
  readonly forgotten?: RestoreCheck
}
