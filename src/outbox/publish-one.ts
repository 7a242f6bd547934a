/**
 * Does the next step of one delivery and stores the outcome.
 *
 *   lease (by the publisher) ─▶ prepare ─▶ begin: attempt and budget, committed ─▶ send ─▶ end
 *
 * If the process dies before `begin` is committed, nothing was sent. If it dies later, or no answer
 * comes, the next holder finds an attempt without an outcome and looks before it sends. If the
 * process is late, the request does not leave (`sendBy`). If it left all the same, the store
 * refuses our outcome, because the lease is lost, and the target is read again.
 */
import type { Channel, Prepared, Target } from '../channel.ts'
import type { NextStep } from '../domain/outbox/protocol/next-step.ts'
import { nextStep } from '../domain/outbox/protocol/next-step.ts'
import type { Finding } from '../domain/outbox/outcome.ts'
import { InvalidInputError, isStoreAway } from '../errors.ts'
import type { LeasedDelivery } from '../store/outbox-store.ts'
import { unexpectedFailure } from './classify-error.ts'
import { lookAt } from './look-at.ts'
import {
  recordFinding,
  targetOf,
  type PublishingJob,
  type PublishingParts,
} from './publishing-parts.ts'
import { remove, write } from './send.ts'
import { withSlot } from './with-slot.ts'

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
    await recordFinding(parts, leased, {
      what: 'no_channel',
      trouble: { code: 'no_channel', text },
    })
    return
  }
  if (needsRepositoryId(leased)) {
    const repo = leased.unverifiedName ?? leased.repo
    const place = { repo, repoGithubId: null, address: null }
    await withSlot(parts, { leased, channel }, place, async () => {
      await recordFinding(
        parts,
        leased,
        await parts.repositoryIds.learn(leased, channel.declaration),
      )
    })
    return
  }
  const target = targetOf(leased)
  const found = await prepare(parts, channel, target, leased)
  if (found === null) return
  if ('what' in found) {
    await recordFinding(parts, leased, found)
    return
  }
  const job: PublishingJob = { leased, delivery, channel, target, prepared: found, sendBy, lookBy }
  const isOld = await threadIsOld(parts, leased)
  await carryOut(parts, job, nextStep(delivery, channel.declaration, isOld, store.now()))
}

function carryOut(parts: PublishingParts, job: PublishingJob, step: NextStep): Promise<void> {
  switch (step.what) {
    case 'write':
      return write(parts, job, step.action)
    case 'remove':
      return remove(parts, job, step.providerId)
    case 'nothing':
    case 'reserve':
    case 'resend':
    case 'hold':
      return recordFinding(parts, job.leased, { what: step.what })
    default:
      return lookAt(parts, job, step)
  }
}

/** GitHub's id of its repository must be learnt first. */
function needsRepositoryId({ delivery, repoGithubId, unverifiedName }: LeasedDelivery): boolean {
  if (delivery.repositoryId === null) return false
  return repoGithubId === null || unverifiedName !== null
}

type Unprepared = Extract<Finding, { what: 'invalid' | 'look_failed' | 'unprepared' }>

/**
 * Returns null if another process has taken the delivery. If an earlier holder was lost before it
 * sent anything, the beginning and the end of the preparation are stored. So a process that dies in
 * between is known to have died of this preparation.
 */
function prepare(
  parts: PublishingParts,
  channel: Channel,
  target: Target,
  leased: LeasedDelivery,
): Promise<Prepared | Unprepared | null> {
  if (!leased.wasLost) return prepareNow(parts, channel, target, leased)
  const { outbox } = parts.store
  return parts.oneAtATime(async () => {
    if ((await outbox.notePreparation(leased.lease, 'begins')) === 'lost') return null
    const found = await prepareNow(parts, channel, target, leased)
    if ('what' in found) return found
    return (await outbox.notePreparation(leased.lease, 'ended')) === 'lost' ? null : found
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
    log.error({ err: error, delivery_id: delivery.id }, 'Could not prepare a delivery')
    const { trouble } = unexpectedFailure(error)
    if (isStoreAway(error)) {
      return { what: 'look_failed', trouble, after: null, permanent: false }
    }
    const failed = { code: 'preparation_failed', text: trouble.text }
    return { what: 'unprepared', trouble: failed, counted }
  }
}

/** The thread may have an output of ours that this store does not know. */
async function threadIsOld(
  { store }: PublishingParts,
  { threadCreatedAt }: LeasedDelivery,
): Promise<boolean> {
  return threadCreatedAt === null || threadCreatedAt < (await store.outbox.knowsSince())
}
