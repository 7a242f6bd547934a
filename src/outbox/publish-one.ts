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
import type { Channel, Prepared, Sight, Target } from '../channel.ts'
import type { Attempt, AttemptAction, Delivery } from '../domain/outbox/delivery.ts'
import type { Move } from '../domain/outbox/move.ts'
import { nextMove } from '../domain/outbox/move.ts'
import type { AttemptEnd, Finding } from '../domain/outbox/outcome.ts'
import { queueName, wasJustSought } from '../domain/outbox/queue.ts'
import { InvalidInputError, StoreContendedError, StoreUnavailableError } from '../errors.ts'
import { GitHubError } from '../github/errors.ts'
import type { LeasedDelivery } from '../outbox-store.ts'
import { delay } from '../scheduler.ts'
import type { LookFailure } from './outcome-of.ts'
import { brokenOff, endOfError } from './outcome-of.ts'
import { record, toStoreTime, type PublishingParts } from './publishing-parts.ts'
import { failureOf, takeTurn } from './take-turn.ts'
import { targetOf } from './target-of.ts'

/** Only what was just looked for waits so long in hand: behind a queue its look would grow old. */
const shortWaitMs = 1500

interface Job {
  readonly leased: LeasedDelivery
  readonly delivery: Delivery
  readonly channel: Channel
  readonly target: Target
  readonly prepared: Prepared
  /** On the monotonic clock. A read changes nothing and may take as long as the lease. */
  readonly sendBy: number
  readonly lookBy: number
}

export async function publishOne(
  parts: PublishingParts,
  leased: LeasedDelivery,
  { sendBy, lookBy }: Pick<Job, 'sendBy' | 'lookBy'>,
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
  const { repoGithubId } = leased
  if (repoGithubId === null) {
    const place = { repo: leased.repo, repoGithubId: null }
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
  const job: Job = { leased, delivery, channel, target, prepared: found, sendBy, lookBy }
  const move = nextMove(delivery, await threadIsOld(parts, leased), store.now())
  await make(parts, job, move)
}

function make(parts: PublishingParts, job: Job, move: Move): Promise<void> {
  const { leased, channel, delivery } = job
  switch (move.what) {
    case 'write':
      return write(parts, job, move.action)
    case 'remove':
      return attempt(parts, job, 'remove', move.providerId, async () => {
        await channel.remove?.(job.target, move.providerId, job.sendBy)
        return { what: 'sent', providerId: null, url: null, hash: delivery.sentHash ?? '' }
      })
    case 'rest':
    case 'save':
      return record(parts, leased, { what: move.what })
    default:
      return look(parts, job, move)
  }
}

async function write(parts: PublishingParts, job: Job, action: 'create' | 'edit'): Promise<void> {
  const { leased, delivery, channel, target, prepared, sendBy } = job
  if (stillShows(delivery, prepared)) {
    await record(parts, leased, { what: 'unchanged', hash: prepared.hash })
    return
  }
  await attempt(parts, job, action, null, async () => {
    const { providerId, url } = await channel.write(target, prepared, sendBy)
    return { what: 'sent', providerId, url, hash: prepared.hash }
  })
}

/** People set and take off labels as they like: what a new claim wants is said anew. */
function stillShows({ channel, memo, ...sent }: Delivery, { hash }: Prepared): boolean {
  const mayHaveChanged = channel === 'github-label' && sent.sentFence !== sent.versionFence
  return sent.sentHash === hash && memo.unsettled !== true && !mayHaveChanged
}

function attempt(
  parts: PublishingParts,
  job: Job,
  action: AttemptAction,
  removes: string | null,
  send: () => Promise<AttemptEnd>,
): Promise<void> {
  return takeTurn(parts, job.leased, job.target, async (identity) => {
    const begun = await begin(parts, job, action, removes, identity)
    if (begun !== null) await carryOut(parts, job, begun, identity, send)
  })
}

async function carryOut(
  parts: PublishingParts,
  job: Job,
  begun: Attempt,
  identity: string,
  send: () => Promise<AttemptEnd>,
): Promise<void> {
  const { store, metrics } = parts
  const { leased, delivery, channel } = job
  const { action } = begun
  const answered = await answerOf(send, async (error) => {
    const shut = await parts.admission.shutOut(error, job.target, identity)
    const end = endOfError(error, {
      delivery,
      action,
      looks: channel.looksBeforeResend,
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
  tell(parts, job, action, answered.end)
}

interface Answered {
  readonly end: AttemptEnd
  readonly httpStatus: number | null
  readonly requestId: string | null
  readonly githubRequestId: string | null
}

async function answerOf(
  send: () => Promise<AttemptEnd>,
  endOf: (error: unknown) => Promise<AttemptEnd>,
): Promise<Answered> {
  try {
    const nothing = { httpStatus: null, requestId: null, githubRequestId: null }
    return { end: await send(), ...nothing }
  } catch (error) {
    const facts = error instanceof GitHubError ? error : null
    return {
      end: await endOf(error),
      httpStatus: facts?.status ?? null,
      requestId: facts?.requestId ?? null,
      githubRequestId: facts?.githubRequestId ?? null,
    }
  }
}

/** Null when it is not to be sent now; then that has been recorded. */
async function begin(
  parts: PublishingParts,
  { leased, delivery, sendBy }: Job,
  action: AttemptAction,
  removes: string | null,
  identity: string,
): Promise<Attempt | null> {
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

type Look = Exclude<Move['what'], 'write' | 'remove' | 'rest' | 'save'>

function look(parts: PublishingParts, job: Job, { what }: { readonly what: Look }): Promise<void> {
  const { leased, target } = job
  return takeTurn(parts, leased, target, (identity) => lookAs(parts, job, what, identity))
}

async function lookAs(
  parts: PublishingParts,
  job: Job,
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
    const mayBeAnother = what === 'settle' && leased.delivery.memo.restored !== undefined
    const sight = await channel.look({ target, prepared, since, mayBeAnother }, job.lookBy)
    const isTurn = leased.fromQueue === queueName(identity, leased.delivery.channel)
    await record(parts, leased, await findingOf(job, what, sight, isTurn))
  } catch (error) {
    const shut = await parts.admission.shutOut(error, job.target, identity)
    const isShut = shut !== null && shut !== 'not_now'
    const failed: LookFailure = isShut
      ? { what: 'look_limited', until: shut.until }
      : failureOf(parts, leased, error)
    if (failed.what === 'look_limited' && !isShut) {
      await store.outbox.blockIdentity(identity, failed.until, 'rate_limited', 'publisher')
    }
    await record(parts, leased, failed)
  }
}

/** Where the id is known it is asked for; what may be there without our knowledge is listed. */
function sinceOf({ store, clock }: PublishingParts, { delivery }: Job, what: Look): number | null {
  const since =
    what === 'scan'
      ? delivery.createdAt
      : what === 'confirm' && delivery.memo.doubt?.action === 'create'
        ? delivery.memo.doubt.since
        : null
  return since === null ? null : since - store.now() + clock.wallMs()
}

async function findingOf(
  { channel, target, prepared, lookBy }: Job,
  what: Look,
  { standing, unverified }: Sight,
  isTurn: boolean,
): Promise<Finding> {
  switch (what) {
    case 'scan':
      return { what: 'scanned', standing }
    case 'settle':
      return { what: 'settled', standing }
    case 'examine': {
      const there = standing.length > 0
      const placeIsThere = there || (await channel.placeIsThere(target, lookBy))
      return { what: 'examined', there, placeIsThere }
    }
    default: {
      const looks = channel.looksBeforeResend
      return { what: 'looked', standing, unverified, hash: prepared.hash, looks, isTurn }
    }
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

function tell({ log }: PublishingParts, { delivery }: Job, action: string, end: AttemptEnd): void {
  const { id, channel, runId, name } = delivery
  const told = { delivery_id: id, run_id: runId, channel, name, action, outcome: end.what }
  if (end.what === 'sent') log.info(told, 'published')
  else if (end.what === 'permanent') log.warn({ ...told, ...end.trouble }, 'could not publish')
  else log.info({ ...told, ...('trouble' in end && end.trouble) }, 'not published yet')
}
