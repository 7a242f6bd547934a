/**
 * Before anything is asked of GitHub: as whom, and whether that identity has a hand left for it.
 * Whoever has its share in hand already stands in its queue, and leaves the hand to the others.
 */
import { isRepair, queueName, wasJustSought } from '../domain/outbox/queue.ts'
import type { RepositoryRef } from '../github.ts'
import type { LeasedDelivery } from '../outbox-store.ts'
import type { LookFailure } from './outcome-of.ts'
import { failureOfLook } from './outcome-of.ts'
import { record, toStoreTime, type PublishingParts } from './publishing-parts.ts'

/** Where it is not done now, that has been recorded. */
export async function takeTurn(
  parts: PublishingParts,
  leased: LeasedDelivery,
  place: RepositoryRef,
  work: (identity: string) => Promise<void>,
): Promise<void> {
  const identity = await identityOf(parts, leased, place)
  if (identity === null) return
  const { delivery } = leased
  if (isRepair(delivery) || wasJustSought(delivery)) {
    await work(identity)
    return
  }
  const release = parts.hands.share(identity, delivery.channel)
  if (release === null) {
    const queue = queueName(identity, delivery.channel)
    await record(parts, leased, { what: 'crowded', queue })
    return
  }
  try {
    await work(identity)
  } finally {
    release()
  }
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
