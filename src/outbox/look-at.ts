/**
 * One look at GitHub. It finds out whether an unanswered request was done, whether an output that
 * we know is still there, and whether there are two copies of it.
 */
import type { LookResult } from '../channel.ts'
import type { NextStep } from '../domain/outbox/protocol/next-step.ts'
import type { Finding } from '../domain/outbox/outcome.ts'
import { queueName } from '../domain/outbox/queue.ts'
import { looksOf, type LookFailure } from './classify-error.ts'
import { recordFinding, type PublishingJob, type PublishingParts } from './publishing-parts.ts'
import { admissionOf, lookFailureOf, withSlot } from './with-slot.ts'

type Look = Exclude<
  NextStep['what'],
  'write' | 'remove' | 'nothing' | 'reserve' | 'resend' | 'hold'
>

export function lookAt(
  parts: PublishingParts,
  job: PublishingJob,
  { what }: { readonly what: Look },
): Promise<void> {
  return withSlot(parts, job, job.target, (identity) => lookAs(parts, job, what, identity))
}

async function lookAs(
  parts: PublishingParts,
  job: PublishingJob,
  what: Look,
  identity: string,
): Promise<void> {
  const { store } = parts
  const { leased, channel, target, prepared } = job
  const blockedUntil = await store.outbox.blockedUntil(identity)
  if (blockedUntil !== null) {
    await recordFinding(parts, leased, { what: 'look_limited', until: blockedUntil })
    return
  }
  try {
    const since = sinceOf(parts, job, what)
    const mayBeAnother = what === 'settle' && leased.delivery.protocol.restored !== undefined
    if (channel.look === undefined) {
      await recordFinding(parts, leased, cannotLook)
      return
    }
    const seen = await channel.look({ target, prepared, since, mayBeAnother }, job.lookBy)
    const isTurn = leased.fromQueue === queueName(identity, leased.delivery.channel)
    await recordFinding(parts, leased, await findingOf(job, what, seen, isTurn))
  } catch (error) {
    const block = await admissionOf(channel).blockAfter(error, job.target, identity)
    const isBlocked = block !== null && block !== 'not_now'
    const failed: LookFailure = isBlocked
      ? { what: 'look_limited', until: block.until }
      : lookFailureOf(parts, job, error)
    if (failed.what === 'look_limited' && !isBlocked) {
      await store.outbox.blockIdentity(identity, failed.until, 'rate_limited', 'publisher')
    }
    await recordFinding(parts, leased, failed)
  }
}

/** The channel's declaration asks for a look, but the channel has no `look`. */
const cannotLook: LookFailure = {
  what: 'look_failed',
  trouble: { code: 'cannot_look', text: 'what this channel publishes cannot be looked at' },
  after: null,
  permanent: true,
}

/**
 * From when on the look lists what is there. Null if it reads by the known id. An output that may
 * be there without our knowledge can only be found by listing.
 */
function sinceOf(
  { store, clock }: PublishingParts,
  { delivery }: PublishingJob,
  what: Look,
): number | null {
  const since =
    what === 'scan'
      ? delivery.createdAt
      : what === 'confirm' && delivery.protocol.doubt?.action === 'create'
        ? delivery.protocol.doubt.since
        : null
  return since === null ? null : since - store.now() + clock.wallMs()
}

async function findingOf(
  { channel, target, prepared, lookBy }: PublishingJob,
  what: Look,
  { found, unverified }: LookResult,
  isTurn: boolean,
): Promise<Finding> {
  switch (what) {
    case 'scan':
      return { what: 'scanned', found }
    case 'settle':
      return { what: 'settled', found }
    case 'examine': {
      const there = found.length > 0
      const placeIsThere = there || (await channel.placeIsThere?.(target, lookBy)) === true
      return { what: 'examined', there, placeIsThere }
    }
    default: {
      const looks = looksOf(channel.declaration)
      return { what: 'looked', found, unverified, hash: prepared.hash, looks, isTurn }
    }
  }
}
