/**
 * Sends one request that writes. Before it leaves, the attempt is stored and its write is taken
 * from the budget. After it, the outcome is stored. A delivery that may not be sent now goes back
 * to its queue.
 */
import type { Channel, Prepared } from '../channel.ts'
import type { ChannelDeclaration } from '../domain/outbox/channel-declaration.ts'
import type { DeliveryAttempt, AttemptAction, Delivery } from '../domain/outbox/delivery.ts'
import type { AttemptEnd } from '../domain/outbox/outcome.ts'
import { queueName, wasJustLookedFor } from '../domain/outbox/queue.ts'
import { delay } from '../scheduler.ts'
import { attemptEndOf } from './classify-error.ts'
import {
  logFailed,
  recordFinding,
  toStoreTime,
  type PublishingJob,
  type PublishingParts,
} from './publishing-parts.ts'
import { admissionOf, withSlot } from './with-slot.ts'

/** Only a delivery with a fresh look waits in its slot: in a queue it would need a new look. */
const shortWaitMs = 1500

export async function write(
  parts: PublishingParts,
  job: PublishingJob,
  action: 'create' | 'edit',
): Promise<void> {
  const { leased, delivery, channel, target, prepared, sendBy } = job
  if (stillShows(delivery, channel, prepared)) {
    await recordFinding(parts, leased, { what: 'unchanged', hash: prepared.hash })
    return
  }
  await sendAttempt(parts, job, action, null, async () => {
    const { providerId, url } = await channel.write(target, prepared, sendBy)
    return { what: 'sent', providerId, url, hash: prepared.hash }
  })
}

/** Removes a copy, after the one that is kept was brought up to date. */
export function remove(
  parts: PublishingParts,
  job: PublishingJob,
  providerId: string,
): Promise<void> {
  const { channel, delivery, target, sendBy } = job
  return sendAttempt(parts, job, 'remove', providerId, async () => {
    await channel.remove?.(target, providerId, sendBy)
    return { what: 'sent', providerId: null, url: null, hash: delivery.sentHash ?? '' }
  })
}

/** People may have changed a value that they can set too, so a new claim always sends it. */
function stillShows(
  { protocol, ...sent }: Delivery,
  { declaration }: Channel,
  { hash }: Prepared,
): boolean {
  const isShared = declaration.replacedBy === 'set'
  const mayHaveChanged = isShared && sent.sentFence !== sent.versionFence
  return sent.sentHash === hash && protocol.unsettled !== true && !mayHaveChanged
}

function sendAttempt(
  parts: PublishingParts,
  job: PublishingJob,
  action: AttemptAction,
  removes: string | null,
  send: () => Promise<AttemptEnd>,
): Promise<void> {
  return withSlot(parts, job, job.target, async (identity) => {
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
    const block = await admissionOf(channel).blockAfter(error, job.target, identity)
    const end = attemptEndOf(error, {
      delivery,
      action,
      channel: channel.declaration,
      now: store.now(),
      toStoreTime: toStoreTime(parts),
      rules: store.outbox.rules,
    })
    if (block === null || !('trouble' in end)) return end
    // GitHub did nothing, and what we sent is not the reason.
    const { trouble } = end
    return block === 'not_now'
      ? { what: 'retry', trouble, after: null }
      : { what: 'rate_limited', until: block.until, trouble, isKept: true }
  })
  const recorded = await store.outbox.endAttempt(leased.lease, {
    attempt: begun,
    identity,
    ...answered,
  })
  metrics.attempted(delivery.channel, recorded === 'late' ? 'late' : answered.end.what)
  if (answered.end.what === 'sent' && recorded === 'recorded' && action !== 'remove') {
    metrics.published(delivery.channel, Math.max(0, store.now() - delivery.changedAt))
  }
  if (recorded === 'failed') await logFailed(parts, delivery.id)
  else logOutcome(parts, job, action, answered.end)
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
    const failure = failureOf(error)
    return {
      end: await endOf(error),
      httpStatus: failure?.httpStatus ?? null,
      requestId: failure?.requestId ?? null,
      githubRequestId: failure?.providerRequestId ?? null,
    }
  }
}

/** Returns null if it may not be sent now. That has then been recorded. */
async function begin(
  parts: PublishingParts,
  { leased, delivery, sendBy }: PublishingJob,
  action: AttemptAction,
  removes: string | null,
  identity: string,
): Promise<DeliveryAttempt | null> {
  const { store, limits, scheduler, clock } = parts
  const { versionFence, versionSeq, channel } = delivery
  const hasFreshLook = wasJustLookedFor(delivery)
  for (;;) {
    const answer = await store.outbox.beginAttempt({
      lease: leased.lease,
      action,
      versionFence,
      versionSeq,
      providerId: removes,
      identity,
      limits,
      isTurn: leased.fromQueue === queueName(identity, channel) || hasFreshLook,
    })
    if (answer.result === 'begun') return answer.attempt
    if (answer.result !== 'budget') return null
    const waitMs = answer.until - store.now()
    if (!hasFreshLook || waitMs > shortWaitMs || clock.monotonicMs() + waitMs >= sendBy) {
      // During a block each delivery waits by itself, because the block also moves its deadline.
      const queue = answer.why === 'blocked' ? null : queueName(identity, channel)
      await recordFinding(parts, leased, { what: 'budget', until: answer.until, queue })
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
