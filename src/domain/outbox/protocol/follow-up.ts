/**
 * How a delivery is closed, and what remains to be done after that: remove copies, look for a
 * second one, find a late write.
 */
import type { ChannelDeclaration } from '../channel-declaration.ts'
import type { PlannedRead, Delivery, DeliveryStatus, ProtocolState } from '../delivery.ts'
import { isOpen } from '../delivery.ts'
import { priorities } from '../queue.ts'
import { deadlineFor, type PublishingRules } from '../schedule.ts'

export function close(
  delivery: Delivery,
  status: Exclude<DeliveryStatus, 'PENDING'>,
  reason: string | null,
  now: number,
): Delivery {
  return withFollowUpDue({ ...delivery, status, reason, wait: null, closedAt: now, tries: 0 }, now)
}

/** It is due to be sent now, as if it had not been closed. */
export function reopen(delivery: Delivery, now: number): Delivery {
  return {
    ...delivery,
    status: 'PENDING',
    reason: null,
    wait: 'due',
    closedAt: null,
    priority: priorities.first,
    dueAt: now,
  }
}

export function withoutLease(delivery: Delivery): Delivery {
  return { ...delivery, leaseId: null, leasedUntil: null, attemptId: null, queue: null }
}

/** The preparation succeeded, so earlier failures no longer count. */
export function withoutPreparations(delivery: Delivery): Delivery {
  const { preparations: _over, ...protocol } = delivery.protocol
  return { ...delivery, protocol }
}

export function withoutTries(protocol: ProtocolState): ProtocolState {
  const { failedSends: _sends, unclear: _unclear, preparations: _preparations, ...rest } = protocol
  return rest
}

/**
 * The holder's reports are refused from now on. An attempt without an outcome is left for the next
 * holder to look for.
 */
export function revokeLease(delivery: Delivery): Delivery {
  return { ...delivery, leaseId: null }
}

/** A closed delivery is due when its next follow-up is. */
export function withFollowUpDue(delivery: Delivery, now: number): Delivery {
  if (isOpen(delivery)) return delivery
  const { surplus, scan, settle } = delivery.protocol
  const times = [
    ...(surplus !== undefined && surplus.length > 0 ? [now] : []),
    ...[scan, settle].flatMap((appointment) => appointment?.at ?? []),
  ]
  return { ...delivery, dueAt: times.length === 0 ? null : Math.min(...times) }
}

/** A request may arrive late, one of this store or one from before a restore. */
export function mayArriveLate({ protocol }: Pick<Delivery, 'protocol'>): boolean {
  return protocol.unsettled === true || protocol.restored !== undefined
}

/**
 * Follow-ups have their own deadline: that of the version may be over, and then the first failed
 * read would be the last one.
 */
export function withFollowUpDeadline(
  before: Delivery,
  after: Delivery,
  now: number,
  rules: PublishingRules,
): Delivery {
  const [was, is] = [before, after].map(({ protocol: { surplus, scan, settle } }) =>
    JSON.stringify([surplus, scan, settle]),
  )
  const isNew = isOpen(before) || was !== is
  if (isOpen(after) || after.dueAt === null || !isNew) return after
  const deadlineAt = Math.max(after.deadlineAt, deadlineFor(after.kind, now, rules))
  return { ...after, deadlineAt }
}

/** The target now shows the newest version. */
export function withShowsWork({ announces }: Delivery, protocol: ProtocolState): ProtocolState {
  const { showsWork: _before, ...rest } = protocol
  return announces ? { ...rest, showsWork: true } : rest
}

/** Counts a write, if the channel limits the writes of a target. */
export function withWriteCounted(
  { progressWritesMax }: Pick<ChannelDeclaration, 'progressWritesMax'>,
  protocol: ProtocolState,
): ProtocolState {
  return progressWritesMax === null ? protocol : { ...protocol, writes: (protocol.writes ?? 0) + 1 }
}

/** Null removes the planned read. */
export function withPlannedRead(
  protocol: ProtocolState,
  key: 'scan' | 'settle',
  appointment: PlannedRead | null,
): ProtocolState {
  const { [key]: _dropped, ...rest } = protocol
  return appointment === null ? rest : { ...rest, [key]: appointment }
}
