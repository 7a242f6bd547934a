/**
 * One request that writes: its attempt and its write from the budget are stored before it leaves,
 * its outcome after it. What is not to be sent now goes back to where it waits.
 */
import type { Channel, Prepared } from '../channel.ts'
import type { ChannelDeclaration } from '../domain/outbox/channel-declaration.ts'
import type { DeliveryAttempt, AttemptAction, Delivery } from '../domain/outbox/delivery.ts'
import type { AttemptEnd } from '../domain/outbox/outcome.ts'
import { queueName, wasJustSought } from '../domain/outbox/queue.ts'
import { delay } from '../scheduler.ts'
import { endOfError } from './outcome-of.ts'
import {
  record,
  toStoreTime,
  type PublishingJob,
  type PublishingParts,
} from './publishing-parts.ts'
import { admissionOf, takeTurn } from './take-turn.ts'

/** Only what was just looked for waits so long in its slot: in a queue its look would grow old. */
const shortWaitMs = 1500

export async function write(
  parts: PublishingParts,
  job: PublishingJob,
  action: 'create' | 'edit',
): Promise<void> {
  const { leased, delivery, channel, target, prepared, sendBy } = job
  if (stillShows(delivery, channel, prepared)) {
    await record(parts, leased, { what: 'unchanged', hash: prepared.hash })
    return
  }
  await attempt(parts, job, action, null, async () => {
    const { providerId, url } = await channel.write(target, prepared, sendBy)
    return { what: 'sent', providerId, url, hash: prepared.hash }
  })
}

/** A copy; the one that is kept is up to date. */
export function remove(
  parts: PublishingParts,
  job: PublishingJob,
  providerId: string,
): Promise<void> {
  const { channel, delivery, target, sendBy } = job
  return attempt(parts, job, 'remove', providerId, async () => {
    await channel.remove?.(target, providerId, sendBy)
    return { what: 'sent', providerId: null, url: null, hash: delivery.sentHash ?? '' }
  })
}

/** What people set as well may have changed: what a new claim wants is said anew. */
function stillShows(
  { protocol, ...sent }: Delivery,
  { declaration }: Channel,
  { hash }: Prepared,
): boolean {
  const isShared = declaration.replacedBy === 'set'
  const mayHaveChanged = isShared && sent.sentFence !== sent.versionFence
  return sent.sentHash === hash && protocol.unsettled !== true && !mayHaveChanged
}

function attempt(
  parts: PublishingParts,
  job: PublishingJob,
  action: AttemptAction,
  removes: string | null,
  send: () => Promise<AttemptEnd>,
): Promise<void> {
  return takeTurn(parts, job, job.target, async (identity) => {
    const begun = await begin(parts, job, action, removes, identity)
    if (begun !== null) await carryOut(parts, job, begun, identity, send)
  })
}

async function carryOut(
  parts: PublishingParts,
  job: PublishingJob,
  begun: DeliveryAttempt,
  identity: string,
  send: () => Promise<AttemptEnd>,
): Promise<void> {
  const { store, metrics } = parts
  const { leased, delivery, channel } = job
  const { action } = begun
  const answered = await answerOf(send, channel.declaration, async (error) => {
    const shut = await admissionOf(channel).shutOut(error, job.target, identity)
    const end = endOfError(error, {
      delivery,
      action,
      channel: channel.declaration,
      now: store.now(),
      toStoreTime: toStoreTime(parts),
      rules: store.outbox.rules,
    })
    if (shut === null || !('trouble' in end)) return end
    // Nothing was done, and nothing is wrong with what was sent.
    const { trouble } = end
    return shut === 'not_now'
      ? { what: 'retry', trouble, after: null }
      : { what: 'rate_limited', until: shut.until, trouble, isKept: true }
  })
  const recorded = await store.outbox.endAttempt(leased.hold, {
    attempt: begun,
    identity,
    ...answered,
  })
  metrics.attempted(delivery.channel, recorded === 'late' ? 'late' : answered.end.what)
  if (answered.end.what === 'sent' && recorded === 'recorded' && action !== 'remove') {
    metrics.published(delivery.channel, Math.max(0, store.now() - delivery.changedAt))
  }
  logOutcome(parts, job, action, answered.end)
}

interface Answered {
  readonly end: AttemptEnd
  readonly httpStatus: number | null
  readonly requestId: string | null
  readonly githubRequestId: string | null
}

async function answerOf(
  send: () => Promise<AttemptEnd>,
  { failureOf }: ChannelDeclaration,
  endOf: (error: unknown) => Promise<AttemptEnd>,
): Promise<Answered> {
  try {
    const nothing = { httpStatus: null, requestId: null, githubRequestId: null }
    return { end: await send(), ...nothing }
  } catch (error) {
    const facts = failureOf(error)
    return {
      end: await endOf(error),
      httpStatus: facts?.httpStatus ?? null,
      requestId: facts?.requestId ?? null,
      githubRequestId: facts?.providerRequestId ?? null,
    }
  }
}

/** Null when it is not to be sent now; then that has been recorded. */
async function begin(
  parts: PublishingParts,
  { leased, delivery, sendBy }: PublishingJob,
  action: AttemptAction,
  removes: string | null,
  identity: string,
): Promise<DeliveryAttempt | null> {
  const { store, limits, scheduler, clock } = parts
  const { versionFence, versionSeq, channel } = delivery
  const sought = wasJustSought(delivery)
  for (;;) {
    const answer = await store.outbox.beginAttempt({
      hold: leased.hold,
      action,
      versionFence,
      versionSeq,
      providerId: removes,
      identity,
      limits,
      isTurn: leased.fromQueue === queueName(identity, channel) || sought,
    })
    if (answer.result === 'begun') return answer.attempt
    if (answer.result !== 'budget') return null
    const waitMs = answer.until - store.now()
    if (!sought || waitMs > shortWaitMs || clock.monotonicMs() + waitMs >= sendBy) {
      // A block is waited out by each on its own, because its deadline waits with it.
      const queue = answer.why === 'blocked' ? null : queueName(identity, channel)
      await record(parts, leased, { what: 'budget', until: answer.until, queue })
      return null
    }
    await delay(scheduler, Math.max(1, waitMs))
  }
}

function logOutcome(
  { log }: PublishingParts,
  { delivery }: PublishingJob,
  action: string,
  end: AttemptEnd,
): void {
  const { id, channel, runId, name } = delivery
  const facts = { delivery_id: id, run_id: runId, channel, name, action, outcome: end.what }
  if (end.what === 'sent') log.info(facts, 'Published')
  else if (end.what === 'permanent') log.warn({ ...facts, ...end.trouble }, 'Could not publish')
  else log.info({ ...facts, ...('trouble' in end && end.trouble) }, 'Not published yet')
}
