/**
 * One look at GitHub: whether what we sent without an answer is there, whether what we know of
 * still stands, whether there are two.
 */
import type { LookResult } from '../channel.ts'
import type { NextStep } from '../domain/outbox/next-step.ts'
import type { Finding } from '../domain/outbox/outcome.ts'
import { queueName } from '../domain/outbox/queue.ts'
import { looksOf, type LookFailure } from './outcome-of.ts'
import { record, type PublishingJob, type PublishingParts } from './publishing-parts.ts'
import { admissionOf, failureOf, takeTurn } from './take-turn.ts'

type Look = Exclude<NextStep['what'], 'write' | 'remove' | 'nothing' | 'save' | 'resend' | 'hold'>

export function lookAt(
  parts: PublishingParts,
  job: PublishingJob,
  { what }: { readonly what: Look },
): Promise<void> {
  return takeTurn(parts, job, job.target, (identity) => lookAs(parts, job, what, identity))
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
    await record(parts, leased, { what: 'look_limited', until: blockedUntil })
    return
  }
  try {
    const since = sinceOf(parts, job, what)
    const mayBeAnother = what === 'settle' && leased.delivery.protocol.restored !== undefined
    if (channel.look === undefined) {
      await record(parts, leased, cannotLook)
      return
    }
    const seen = await channel.look({ target, prepared, since, mayBeAnother }, job.lookBy)
    const isTurn = leased.fromQueue === queueName(identity, leased.delivery.channel)
    await record(parts, leased, await findingOf(job, what, seen, isTurn))
  } catch (error) {
    const shut = await admissionOf(channel).shutOut(error, job.target, identity)
    const isShut = shut !== null && shut !== 'not_now'
    const failed: LookFailure = isShut
      ? { what: 'look_limited', until: shut.until }
      : failureOf(parts, job, error)
    if (failed.what === 'look_limited' && !isShut) {
      await store.outbox.blockIdentity(identity, failed.until, 'rate_limited', 'publisher')
    }
    await record(parts, leased, failed)
  }
}

/** Its declaration asks for what the channel cannot do. */
const cannotLook: LookFailure = {
  what: 'look_failed',
  trouble: { code: 'cannot_look', text: 'nobody can look at what this channel publishes' },
  after: null,
  permanent: true,
}

/** Where the id is known it is asked for; what may be there without our knowledge is listed. */
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
