/**
 * Runs before anything is asked of the other side: finds out to which party a delivery belongs, and
 * takes one of the party's slots. If the party already has its share of slots, the delivery waits
 * in its queue and leaves the slot to others.
 *
 * What must hold: the party is known before the first question, because that question may hang.
 * Until the other side has named our identity, the party is the account that the channel names.
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
import type { LookFailure } from './classify-error.ts'
import { failureOfLook } from './classify-error.ts'
import {
  recordFinding,
  toStoreTime,
  type PublishingJob,
  type PublishingParts,
} from './publishing-parts.ts'

type Work = (identity: string) => Promise<void>

/** If there is no slot now, that is recorded and `work` does not run. */
export async function withSlot(
  parts: PublishingParts,
  { leased, channel }: Pick<PublishingJob, 'leased' | 'channel'>,
  place: ActingPlace,
  work: Work,
): Promise<void> {
  const { slots } = parts
  const admission = admissionOf(channel)
  const question = { channel, admission, place }
  const account = admission.accountOf(place)
  if (isRepair(leased.delivery)) {
    const queue = repairQueue(account)
    await withShare(parts, leased, { queue, release: slots.takeForAccount(queue) }, async () => {
      const identity = await identityOf(parts, leased, question)
      if (identity !== null) await work(identity)
    })
    return
  }
  const known = admission.lastIdentityOf(account)
  const queue = entryQueue(account)
  const share =
    known === null ? { queue, release: slots.takeForAccount(queue) } : shareOf(parts, leased, known)
  const identity = await withShare(parts, leased, share, async () => {
    const present = await identityOf(parts, leased, question)
    if (present !== null && present === known) await work(present)
    return present
  })
  if (identity === null || identity === known) return
  await withShare(parts, leased, shareOf(parts, leased, identity), () => work(identity))
}

interface IdentityQuestion {
  readonly channel: Channel
  readonly admission: Admission
  readonly place: ActingPlace
}

/** A channel that does not have to ask uses the identity that it declares. */
export function admissionOf({ admission, declaration }: Channel): Admission {
  if (admission !== undefined) return admission
  const identityAt = (place: ActingPlace): string =>
    declaration.identityOf?.(place) ?? declaration.name
  return {
    accountOf: identityAt,
    lastIdentityOf: (account) => account,
    enter: (place) => Promise.resolve({ identity: identityAt(place) }),
    blockAfter: () => Promise.resolve(null),
  }
}

interface Share {
  /** Where the delivery waits if there is no slot. */
  readonly queue: string
  readonly release: Release | null
}

function shareOf(
  { slots }: PublishingParts,
  { delivery }: LeasedDelivery,
  identity: string,
): Share {
  const { channel } = delivery
  return { queue: queueName(identity, channel), release: slots.takeForIdentity(identity, delivery) }
}

/** Returns null if there is no slot. That has then been recorded. */
async function withShare<T>(
  parts: PublishingParts,
  leased: LeasedDelivery,
  { queue, release }: Share,
  work: () => Promise<T>,
): Promise<T | null> {
  if (release === null) {
    await recordFinding(parts, leased, {
      what: 'no_slot',
      queue: queueToWaitIn(parts, leased, queue),
    })
    return null
  }
  try {
    return await work()
  } finally {
    release()
  }
}

/**
 * A delivery that came from an identity's queue stays in that queue. Another process may lack a
 * different slot than this one. Otherwise the two would move it back and forth between two queues.
 */
function queueToWaitIn(
  { slots }: PublishingParts,
  { fromQueue }: LeasedDelivery,
  queue: string,
): string {
  if (fromQueue === null || fromQueue === queue || isRepairQueue(queue)) return queue
  if (isEntryQueue(fromQueue) || isRepairQueue(fromQueue)) return queue
  slots.passOver(fromQueue, queue)
  return fromQueue
}

/** Returns null if our identity cannot be found out. That has then been recorded. */
async function identityOf(
  parts: PublishingParts,
  leased: LeasedDelivery,
  { channel, admission, place }: IdentityQuestion,
): Promise<string | null> {
  try {
    const entry = await admission.enter(place)
    if ('identity' in entry) return entry.identity
    await recordFinding(parts, leased, { what: 'look_limited', until: entry.until })
  } catch (error) {
    await recordFinding(parts, leased, lookFailureOf(parts, { leased, channel }, error))
  }
  return null
}

export function lookFailureOf(
  parts: PublishingParts,
  { leased: { delivery }, channel }: Pick<PublishingJob, 'leased' | 'channel'>,
  error: unknown,
): LookFailure {
  const now = parts.store.now()
  const { rules } = parts.store.outbox
  const setting = { delivery, channel: channel.declaration, now, rules }
  return failureOfLook(error, { ...setting, toStoreTime: toStoreTime(parts) })
}
