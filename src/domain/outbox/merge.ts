/**
 * Merges two deliveries that turned out to have one target, because two names were one repository.
 * The newer version is kept. The kept delivery must also find whatever the other one left on
 * GitHub.
 */
import { markUnsettled } from './protocol/in-doubt.ts'
import type { ChannelDeclaration } from './channel-declaration.ts'
import type { Delivery, DeliveryAttempt } from './delivery.ts'
import { isOpen } from './delivery.ts'
import {
  close,
  withoutLease,
  revokeLease,
  reopen,
  mayArriveLate,
  withFollowUpDue,
} from './protocol/follow-up.ts'
import type { Circumstances } from './outcome.ts'
import { canBeGivenBack, keptOutputIn, withKeptOutput } from './give-back.ts'

export interface Merged {
  readonly winner: Delivery
  readonly loser: Delivery
}

/** `openAttempt`: the loser's attempt that has no outcome yet. */
export function mergeDeliveries(
  winner: Delivery,
  loser: Delivery,
  openAttempt: DeliveryAttempt | null,
  around: Circumstances,
): Merged {
  const { now } = around
  const closed = close(withoutLease(loser), 'SKIPPED', 'target_taken', now)
  const target = `${winner.target}${copyMark(loser)}`
  const { channel } = around
  const one = withKeptOutputs({ ...winner, ...keptIds(winner, loser, around) }, loser, channel)
  const since = createdUnanswered(loser, openAttempt)
  const opened = reopenToShowEnd(takeFromHolder(winner, one, now), loser, since, now)
  const kept = withFollowUpDue(withShowsWork(opened, loser), now)
  return {
    winner:
      since !== null
        ? withDoubtOfLoser(kept, since, around)
        : mayArriveLate(loser)
          ? markUnsettled(kept, loser.protocol.scan !== undefined, around)
          : kept,
    loser: { ...closed, announces: false, protocol: {}, dueAt: null, target },
  }
}

const copyMark = ({ id }: Pick<Delivery, 'id'>): string => ` (copy ${id})`

/** The target that this delivery gave up; null while it has its own. */
export function givenUpTarget(delivery: Pick<Delivery, 'id' | 'target'>): string | null {
  const mark = copyMark(delivery)
  return delivery.target.endsWith(mark) ? delivery.target.slice(0, -mark.length) : null
}

/**
 * If the loser shows work in progress, the winner must close it, even if the winner itself is never
 * shown.
 */
function withShowsWork(winner: Delivery, { protocol }: Delivery): Delivery {
  const isShown = winner.announcedFence === winner.versionFence
  if (protocol.showsWork !== true || isShown) return winner
  return { ...winner, protocol: { ...winner.protocol, showsWork: true } }
}

/**
 * The winner's run ended before anything was shown, so nothing was sent. If the loser may show work
 * in progress, the end must be sent after all.
 */
function reopenToShowEnd(
  winner: Delivery,
  { protocol }: Delivery,
  createdSince: number | null,
  now: number,
): Delivery {
  const isSilent = winner.status === 'SKIPPED' && winner.reason === 'never_announced'
  if (!isSilent || (protocol.showsWork !== true && createdSince === null)) return winner
  return reopen(winner, now)
}

/**
 * The winner gets another output id. A process that is about to write it still has the old id. If
 * no request has left, the delivery is due again at once. If one has left, it is looked for, and
 * its answer comes too late to change the id.
 */
function takeFromHolder(before: Delivery, merged: Delivery, now: number): Delivery {
  if (merged.providerId === before.providerId || before.leaseId === null) return merged
  return before.attemptId === null ? { ...withoutLease(merged), dueAt: now } : revokeLease(merged)
}

/** The loser's output, and the outputs that it kept, may have to be shown again. */
function withKeptOutputs(winner: Delivery, loser: Delivery, channel: ChannelDeclaration): Delivery {
  if (!canBeGivenBack(channel, winner)) return winner
  const outputs = [...(loser.protocol.saidThere ?? []), keptOutputIn(loser)]
  const others = outputs.filter(({ runId }) => runId !== winner.runId)
  return { ...winner, protocol: others.reduce(withKeptOutput, winner.protocol) }
}

function keptIds(
  winner: Delivery,
  loser: Delivery,
  { channel, now }: Circumstances,
): Partial<Delivery> {
  if (channel.keptCopy === 'oldest') return oldestKept(winner, loser, now)
  // GitHub shows the last one that was created. While that is the loser's, equal content is not
  // sent again.
  if (channel.replacedBy === 'create') return { sentHash: winner.sentHash ?? loser.sentHash }
  const isTaken = channel.keptCopy === 'newest' && winner.providerId === null
  const { providerId, providerUrl } = loser
  return isTaken ? { providerId, providerUrl, sentHash: null } : {}
}

/**
 * Rule 6: of two comments the one with the lower id stays. It is updated before the other is
 * removed.
 */
function oldestKept(winner: Delivery, loser: Delivery, now: number): Partial<Delivery> {
  if (loser.providerId === null) return {}
  const ids = [winner.providerId, loser.providerId].filter((id) => id !== null)
  const [lower = loser.providerId, ...copies] = ids.toSorted((a, b) => Number(a) - Number(b))
  const surplus = [...copies, ...(winner.protocol.surplus ?? []), ...(loser.protocol.surplus ?? [])]
  const protocol = surplus.length === 0 ? winner.protocol : { ...winner.protocol, surplus }
  const kept = { providerId: lower, sentHash: null, protocol }
  if (lower === winner.providerId || winner.status !== 'SENT') return kept
  return reopen({ ...winner, ...kept }, now)
}

/** When the loser began a create that has no answer; null if there is none. */
function createdUnanswered(
  { protocol }: Delivery,
  openAttempt: DeliveryAttempt | null,
): number | null {
  const times = [
    ...(protocol.doubt?.action === 'create' ? [protocol.doubt.since] : []),
    ...(openAttempt?.action === 'create' ? [openAttempt.startedAt] : []),
  ]
  return times.length === 0 ? null : Math.min(...times)
}

/**
 * What the loser sent may be there, or may still arrive. A winner with a known output scans for a
 * copy. A winner that would create one looks first.
 */
function withDoubtOfLoser(winner: Delivery, since: number, around: Circumstances): Delivery {
  // A scan lists what is newer than `createdAt`.
  const older = { ...winner, createdAt: Math.min(winner.createdAt, since) }
  const searched = markUnsettled(older, true, around)
  const creates = isOpen(winner) && winner.providerId === null && winner.wait !== 'held'
  const { channel } = around
  const looksFirst = channel.keptCopy !== null || channel.replacedBy === 'create'
  if (!creates || winner.attemptId !== null || !looksFirst) return searched
  const { doubt } = searched.protocol
  const oldest = Math.min(doubt?.since ?? since, since)
  return {
    // A process that is about to create it must look instead.
    ...withoutLease(searched),
    wait: 'in_doubt',
    dueAt: around.now,
    protocol: { ...searched.protocol, doubt: { action: 'create', since: oldest, looks: 0 } },
  }
}
