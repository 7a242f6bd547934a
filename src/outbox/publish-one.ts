/**
 * One delivery, one step: whatever has to be done next about it is done once, its outcome stored.
 *
 *   lease (by the publisher) ─▶ prepare ─▶ begin: attempt and budget, committed ─▶ send ─▶ end
 *
 * If we die before `begin` is committed, nothing left. After it, the next holder finds an attempt
 * without an outcome and looks before it sends. If no answer ever comes, the same. If we are late,
 * the request does not leave (`sendBy`); if it left all the same, our outcome is refused by the
 * lease and the target read again.
 */
import type { Channel, Prepared, Target } from '../channel.ts'
import type { Move } from '../domain/outbox/move.ts'
import { nextMove } from '../domain/outbox/move.ts'
import type { Finding } from '../domain/outbox/outcome.ts'
import { InvalidInputError, StoreContendedError, StoreUnavailableError } from '../errors.ts'
import type { LeasedDelivery } from '../store/outbox-store.ts'
import { lookAt } from './look-at.ts'
import { brokenOff } from './outcome-of.ts'
import { record, type PublishingJob, type PublishingParts } from './publishing-parts.ts'
import { remove, write } from './send.ts'
import { takeTurn } from './take-turn.ts'
import { targetOf } from './target-of.ts'

export async function publishOne(
  parts: PublishingParts,
  leased: LeasedDelivery,
  { sendBy, lookBy }: Pick<PublishingJob, 'sendBy' | 'lookBy'>,
): Promise<void> {
  const { store, channels } = parts
  const { delivery } = leased
  const channel = channels.get(delivery.channel)
  if (channel === undefined) {
    const text = `this process has no channel ${delivery.channel}`
    const trouble = { code: 'no_channel', text }
    // A newer node may have it: this one may be about to be replaced.
    const finding = { what: 'look_failed', trouble, after: null, permanent: false } as const
    await record(parts, leased, finding)
    return
  }
  const { repoGithubId, unverifiedName } = leased
  if (repoGithubId === null || unverifiedName !== null) {
    const place = { repo: unverifiedName ?? leased.repo, repoGithubId: null }
    await takeTurn(parts, leased, place, async () => {
      await record(parts, leased, await parts.places.learn(leased))
    })
    return
  }
  const target = targetOf(leased, repoGithubId)
  const found = await prepare(parts, channel, target, leased)
  if (found === null) return
  if ('what' in found) {
    await record(parts, leased, found)
    return
  }
  const job: PublishingJob = { leased, delivery, channel, target, prepared: found, sendBy, lookBy }
  const move = nextMove(delivery, await threadIsOld(parts, leased), store.now())
  await make(parts, job, move)
}

function make(parts: PublishingParts, job: PublishingJob, move: Move): Promise<void> {
  switch (move.what) {
    case 'write':
      return write(parts, job, move.action)
    case 'remove':
      return remove(parts, job, move.providerId)
    case 'rest':
    case 'save':
      return record(parts, job.leased, { what: move.what })
    default:
      return lookAt(parts, job, move)
  }
}

type Unprepared = Extract<Finding, { what: 'invalid' | 'look_failed' | 'unprepared' }>

/**
 * Null when somebody else has the delivery by now. Where nobody came back from it before, its
 * beginning and its end are stored: whoever dies in between died of it, and not of anything else.
 */
function prepare(
  parts: PublishingParts,
  channel: Channel,
  target: Target,
  leased: LeasedDelivery,
): Promise<Prepared | Unprepared | null> {
  if (!leased.wasLost) return prepareNow(parts, channel, target, leased)
  const { outbox } = parts.store
  return parts.carefully(async () => {
    if ((await outbox.notePreparation(leased.hold, 'begins')) === 'lost') return null
    const found = await prepareNow(parts, channel, target, leased)
    if ('what' in found) return found
    return (await outbox.notePreparation(leased.hold, 'ended')) === 'lost' ? null : found
  })
}

async function prepareNow(
  { store, clock, log }: PublishingParts,
  channel: Channel,
  target: Target,
  { delivery, wasLost: counted }: LeasedDelivery,
): Promise<Prepared | Unprepared> {
  const startedMs = clock.monotonicMs()
  try {
    const prepared = await channel.prepare(target, JSON.parse(delivery.content))
    const tookMs = Math.round(clock.monotonicMs() - startedMs)
    if (tookMs <= store.outbox.rules.prepareMsMax) return prepared
    const text = `preparing it took ${tookMs} ms`
    return { what: 'unprepared', trouble: { code: 'preparation_slow', text }, counted }
  } catch (error) {
    if (error instanceof InvalidInputError) {
      return { what: 'invalid', trouble: { code: error.code, text: error.message } }
    }
    log.error({ err: error, delivery_id: delivery.id }, 'a delivery could not be prepared')
    const { trouble } = brokenOff(error)
    if (error instanceof StoreUnavailableError || error instanceof StoreContendedError) {
      return { what: 'look_failed', trouble, after: null, permanent: false }
    }
    const failed = { code: 'preparation_failed', text: trouble.text }
    return { what: 'unprepared', trouble: failed, counted }
  }
}

/** Something of ours may stand there that this store does not know of. */
async function threadIsOld(
  { store }: PublishingParts,
  { threadCreatedAt }: LeasedDelivery,
): Promise<boolean> {
  return threadCreatedAt === null || threadCreatedAt < (await store.outbox.knowsSince())
}
