/**
 * How a delivery closes, and what there is still to do about it after that: copies to remove, a
 * second one to look for, a late write to find.
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

/** It is to be sent, from now on; whatever closed it counts no longer. */
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

/** Nobody holds it any more. */
export function withoutLease(delivery: Delivery): Delivery {
  return { ...delivery, leaseId: null, leasedUntil: null, attemptId: null, queue: null }
}

/** It has been prepared: whatever kept it from that is over. */
export function withoutPreparations(delivery: Delivery): Delivery {
  const { preparations: _over, ...protocol } = delivery.protocol
  return { ...delivery, protocol }
}

/** As if it had never been tried. */
export function withoutTries(protocol: ProtocolState): ProtocolState {
  const { failedSends: _sends, unclear: _unclear, preparations: _preparations, ...rest } = protocol
  return rest
}

/**
 * Nobody may speak for it any more; an attempt under way is left for the next holder to look for.
 */
export function revokeLease(delivery: Delivery): Delivery {
  return { ...delivery, leaseId: null }
}

/** A closed one is due for what is left to do about it. */
export function withFollowUpDue(delivery: Delivery, now: number): Delivery {
  if (isOpen(delivery)) return delivery
  const { surplus, scan, settle } = delivery.protocol
  const times = [
    ...(surplus !== undefined && surplus.length > 0 ? [now] : []),
    ...[scan, settle].flatMap((appointment) => appointment?.at ?? []),
  ]
  return { ...delivery, dueAt: times.length === 0 ? null : Math.min(...times) }
}

/** Something that was sent may come late, now or before the store was restored. */
export function mayArriveLate({ protocol }: Pick<Delivery, 'protocol'>): boolean {
  return protocol.unsettled === true || protocol.restored !== undefined
}

/**
 * What is still to be done about a closed one has a deadline of its own: the version's may be over,
 * and then the first read that fails would be the last.
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

/** Its newest version stands there. */
export function withShowsWork({ announces }: Delivery, protocol: ProtocolState): ProtocolState {
  const { showsWork: _before, ...rest } = protocol
  return announces ? { ...rest, showsWork: true } : rest
}

/** One more was written, where the other side takes so many of a target and no more. */
export function withWriteCounted(
  { progressWritesMax }: Pick<ChannelDeclaration, 'progressWritesMax'>,
  protocol: ProtocolState,
): ProtocolState {
  return progressWritesMax === null ? protocol : { ...protocol, writes: (protocol.writes ?? 0) + 1 }
}

/** Null drops the appointment. */
export function withPlannedRead(
  protocol: ProtocolState,
  key: 'scan' | 'settle',
  appointment: PlannedRead | null,
): ProtocolState {
  const { [key]: _dropped, ...rest } = protocol
  return appointment === null ? rest : { ...rest, [key]: appointment }
}
