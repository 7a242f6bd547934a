/**
 * Before anything is asked of GitHub: whose a delivery is, and whether that party has a hand left
 * for it. Whoever has its share in hand already stands in its queue, and leaves the hand to others.
 *
 * What must hold: the party is known before the first question, which may hang. Until GitHub has
 * said as whom we act, it is the account of the repository's name.
 */
import {
  entryQueue,
  isEntryQueue,
  isRepair,
  isRepairQueue,
  queueName,
  repairQueue,
} from '../domain/outbox/queue.ts'
import type { RepositoryRef } from '../github.ts'
import type { LeasedDelivery } from '../outbox-store.ts'
import type { Release } from './slots.ts'
import type { LookFailure } from './outcome-of.ts'
import { failureOfLook } from './outcome-of.ts'
import { record, toStoreTime, type PublishingParts } from './publishing-parts.ts'

type Work = (identity: string) => Promise<void>

/** Where it is not done now, that has been recorded. */
export async function takeTurn(
  parts: PublishingParts,
  leased: LeasedDelivery,
  place: RepositoryRef,
  work: Work,
): Promise<void> {
  const { admission, slots: slots } = parts
  const account = admission.accountOf(place)
  if (isRepair(leased.delivery)) {
    const queue = repairQueue(account)
    await withShare(parts, leased, { queue, release: slots.shareOf(queue) }, async () => {
      const identity = await identityOf(parts, leased, place)
      if (identity !== null) await work(identity)
    })
    return
  }
  const known = admission.lastIdentityOf(account)
  const queue = entryQueue(account)
  const share =
    known === null ? { queue, release: slots.shareOf(queue) } : shareOf(parts, leased, known)
  const identity = await withShare(parts, leased, share, async () => {
    const present = await identityOf(parts, leased, place)
    if (present !== null && present === known) await work(present)
    return present
  })
  if (identity === null || identity === known) return
  await withShare(parts, leased, shareOf(parts, leased, identity), () => work(identity))
}

interface Share {
  /** Where it stands when there is no hand for it. */
  readonly queue: string
  readonly release: Release | null
}

function shareOf(
  { slots: slots }: PublishingParts,
  { delivery }: LeasedDelivery,
  identity: string,
): Share {
  const { channel } = delivery
  return { queue: queueName(identity, channel), release: slots.share(identity, delivery) }
}

/** Null when there is no hand for it; then that has been recorded. */
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
 * Where it has an identity's queue, it stays in it. Another process may lack another hand for it
 * than this one; each of them would put it into its own queue, and take it from the other's.
 */
function waitsIn(
  { slots: slots }: PublishingParts,
  { fromQueue }: LeasedDelivery,
  queue: string,
): string {
  if (fromQueue === null || fromQueue === queue || isRepairQueue(queue)) return queue
  if (isEntryQueue(fromQueue) || isRepairQueue(fromQueue)) return queue
  slots.passOver(fromQueue, queue)
  return fromQueue
}

/** Null when it cannot be said under whom we act; then that has been recorded. */
async function identityOf(
  parts: PublishingParts,
  leased: LeasedDelivery,
  place: RepositoryRef,
): Promise<string | null> {
  try {
    const entry = await parts.admission.enter(place)
    if ('identity' in entry) return entry.identity
    await record(parts, leased, { what: 'look_limited', until: entry.until })
  } catch (error) {
    await record(parts, leased, failureOf(parts, leased, error))
  }
  return null
}

export function failureOf(
  parts: PublishingParts,
  { delivery }: LeasedDelivery,
  error: unknown,
): LookFailure {
  const now = parts.store.now()
  const { rules } = parts.store.outbox
  return failureOfLook(error, { delivery, now, toStoreTime: toStoreTime(parts), rules })
}
