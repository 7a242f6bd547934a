/**
 * Before anything is asked of the other side: whose a delivery is, and whether that party has a
 * slot left for it. Whoever has its share of slots already waits in its queue, and leaves the slot
 * to others.
 *
 * What must hold: the party is known before the first question, which may hang. Until the other
 * side has said as whom we act, it is the account that the channel names.
 */
import {
  entryQueue,
  isEntryQueue,
  isRepair,
  isRepairQueue,
  queueName,
  repairQueue,
} from '../domain/outbox/queue.ts'
import type { ActingPlace, Admission, Channel } from '../channel.ts'
import type { LeasedDelivery } from '../store/outbox-store.ts'
import type { Release } from './slots.ts'
import type { LookFailure } from './outcome-of.ts'
import { failureOfLook } from './outcome-of.ts'
import {
  record,
  toStoreTime,
  type PublishingJob,
  type PublishingParts,
} from './publishing-parts.ts'

type Work = (identity: string) => Promise<void>

/** Where it is not done now, that has been recorded. */
export async function takeTurn(
  parts: PublishingParts,
  { leased, channel }: Pick<PublishingJob, 'leased' | 'channel'>,
  place: ActingPlace,
  work: Work,
): Promise<void> {
  const { slots } = parts
  const admission = admissionOf(channel)
  const entrance = { channel, admission, place }
  const account = admission.accountOf(place)
  if (isRepair(leased.delivery)) {
    const queue = repairQueue(account)
    await withShare(parts, leased, { queue, release: slots.shareOf(queue) }, async () => {
      const identity = await identityOf(parts, leased, entrance)
      if (identity !== null) await work(identity)
    })
    return
  }
  const known = admission.lastIdentityOf(account)
  const queue = entryQueue(account)
  const share =
    known === null ? { queue, release: slots.shareOf(queue) } : shareOf(parts, leased, known)
  const identity = await withShare(parts, leased, share, async () => {
    const present = await identityOf(parts, leased, entrance)
    if (present !== null && present === known) await work(present)
    return present
  })
  if (identity === null || identity === known) return
  await withShare(parts, leased, shareOf(parts, leased, identity), () => work(identity))
}

interface Entrance {
  readonly channel: Channel
  readonly admission: Admission
  readonly place: ActingPlace
}

/** Where nobody has to be asked, the identity is what the channel declares. */
export function admissionOf({ admission, declaration }: Channel): Admission {
  if (admission !== undefined) return admission
  const identityAt = (place: ActingPlace): string =>
    declaration.identityOf?.(place) ?? declaration.name
  return {
    accountOf: identityAt,
    lastIdentityOf: (account) => account,
    enter: (place) => Promise.resolve({ identity: identityAt(place) }),
    shutOut: () => Promise.resolve(null),
  }
}

interface Share {
  /** Where it waits when there is no slot for it. */
  readonly queue: string
  readonly release: Release | null
}

function shareOf(
  { slots }: PublishingParts,
  { delivery }: LeasedDelivery,
  identity: string,
): Share {
  const { channel } = delivery
  return { queue: queueName(identity, channel), release: slots.share(identity, delivery) }
}

/** Null when there is no slot for it; then that has been recorded. */
async function withShare<T>(
  parts: PublishingParts,
  leased: LeasedDelivery,
  { queue, release }: Share,
  work: () => Promise<T>,
): Promise<T | null> {
  if (release === null) {
    await record(parts, leased, { what: 'crowded', queue: waitsIn(parts, leased, queue) })
    return null
  }
  try {
    return await work()
  } finally {
    release()
  }
}

/**
 * Where it has an identity's queue, it stays in it. Another process may lack another slot for it
 * than this one; each of them would put it into its own queue, and take it from the other's.
 */
function waitsIn({ slots }: PublishingParts, { fromQueue }: LeasedDelivery, queue: string): string {
  if (fromQueue === null || fromQueue === queue || isRepairQueue(queue)) return queue
  if (isEntryQueue(fromQueue) || isRepairQueue(fromQueue)) return queue
  slots.passOver(fromQueue, queue)
  return fromQueue
}

/** Null when it cannot be said under whom we act; then that has been recorded. */
async function identityOf(
  parts: PublishingParts,
  leased: LeasedDelivery,
  { channel, admission, place }: Entrance,
): Promise<string | null> {
  try {
    const entry = await admission.enter(place)
    if ('identity' in entry) return entry.identity
    await record(parts, leased, { what: 'look_limited', until: entry.until })
  } catch (error) {
    await record(parts, leased, failureOf(parts, { leased, channel }, error))
  }
  return null
}

export function failureOf(
  parts: PublishingParts,
  { leased: { delivery }, channel }: Pick<PublishingJob, 'leased' | 'channel'>,
  error: unknown,
): LookFailure {
  const now = parts.store.now()
  const { rules } = parts.store.outbox
  const setting = { delivery, channel: channel.declaration, now, rules }
  return failureOfLook(error, { ...setting, toStoreTime: toStoreTime(parts) })
}
