/** When deliveries are tried, shown and looked at again. All times are in milliseconds. */
import type { Delivery } from './delivery.ts'

export interface PublishingRules {
  /** Smallest gap between two edits of one target; 0 is off. */
  readonly coalesceMs: number
  /** The time between two looks for the same output. */
  readonly confirmDelayMs: number
  /** How long a publisher may hold a delivery. Longer than a request may take. */
  readonly deliveryLeaseMs: number
  /** The maximum time from sending a request to the end of its answer. */
  readonly requestTimeoutMs: number
  /** The time between the last moment at which a request may end and the end of the lease. */
  readonly leaseMarginMs: number
  /** For channels that have no rules in `retryOf`. */
  readonly retry: RetryRules
  readonly retryOf: Readonly<Record<string, RetryRules>>
  /** When to try again after a refusal without a reason. After the last of these, it has failed. */
  readonly unclearAfterMs: readonly number[]
  /** A preparation that takes longer has failed. */
  readonly prepareMsMax: number
  /** After so many failed preparations, a delivery has failed. */
  readonly preparationsMax: number
  /** How long a version is tried before it has failed. */
  readonly deadlineMs: Readonly<Record<Delivery['kind'], number>>
  /**
   * The maximum time that a version may be open, blocks included. Counted from when it was wanted.
   */
  readonly openMsMax: number
  /** How long after a success a target with an unanswered attempt is read again. */
  readonly settleAfterMs: readonly number[]
  /** How long after a repeated create a second copy is looked for. */
  readonly scanAfterMs: readonly number[]
  /** How long GitHub may not see a commit after it was pushed. */
  readonly commitHiddenMs: number
  /** How often due deliveries are read. Other processes store deliveries too. */
  readonly pollMs: number
}

export interface RetryRules {
  /** The first waits, without jitter. */
  readonly quickMs: readonly number[]
  /** The waits after those, with jitter. The last one repeats until the deadline. */
  readonly backgroundMs: readonly number[]
  /** How often it is sent again; null: until the deadline. */
  readonly retriesMax: number | null
}

const hourMs = 3_600_000

export const defaultPublishing: PublishingRules = {
  coalesceMs: 2000,
  confirmDelayMs: 5000,
  deliveryLeaseMs: 20_000,
  requestTimeoutMs: 10_000,
  leaseMarginMs: 2000,
  retry: {
    quickMs: [1000, 2000, 4000],
    backgroundMs: [15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000],
    retriesMax: null,
  },
  retryOf: {},
  unclearAfterMs: [60_000, 300_000, 900_000, 3_600_000],
  prepareMsMax: 5000,
  preparationsMax: 3,
  deadlineMs: { state: 24 * hourMs, message: 72 * hourMs },
  openMsMax: 7 * 24 * hourMs,
  settleAfterMs: [15_000, 120_000, 900_000],
  scanAfterMs: [60_000, 900_000],
  commitHiddenMs: 120_000,
  pollMs: 200,
}

export function retryRulesOf(
  { channel }: Pick<Delivery, 'channel'>,
  { retry, retryOf }: PublishingRules,
): RetryRules {
  return retryOf[channel] ?? retry
}

/** The wait after `tries` failed tries. `jitter` in [0, 1) lengthens the later waits. */
export function backoffMs(
  tries: number,
  jitter: number,
  { quickMs, backgroundMs }: RetryRules,
): number {
  const quick = quickMs[tries - 1]
  if (quick !== undefined) return quick
  const slow = backgroundMs[Math.min(tries - quickMs.length, backgroundMs.length) - 1]
  return Math.round((slow ?? quickMs[0] ?? 0) * (1 + jitter / 4))
}

export function deadlineFor(
  kind: Delivery['kind'],
  now: number,
  { deadlineMs }: PublishingRules,
): number {
  return now + deadlineMs[kind]
}

/** No block moves a deadline beyond this. */
export function lastDeadlineOf({ changedAt }: Delivery, { openMsMax }: PublishingRules): number {
  return changedAt + openMsMax
}

/** The longer a run has been shown, the more rarely its progress is sent. */
export function windowMs(shownMs: number, { coalesceMs }: PublishingRules): number {
  if (shownMs >= 600_000) return coalesceMs * 30
  return shownMs >= 60_000 ? coalesceMs * 5 : coalesceMs
}

/** When the newest version may be written, if nothing else delays it. */
export function showAt(delivery: Delivery, now: number, rules: PublishingRules): number {
  const { final, sentAt, sentFence, versionFence, shownSince } = delivery
  if (final || sentAt === null || sentFence !== versionFence) return now
  // After the clock was set back, `sentAt` is in the future. That must not delay it.
  return Math.max(now, Math.min(sentAt, now) + windowMs(now - (shownSince ?? now), rules))
}

export function isFresh(
  delivery: Delivery,
  now: number,
  { commitHiddenMs }: PublishingRules,
): boolean {
  return now - delivery.createdAt < commitHiddenMs
}

export function settleAt(step: number, since: number, rules: PublishingRules): number | null {
  const ms = rules.settleAfterMs[step]
  return ms === undefined ? null : since + ms
}

export function scanAt(step: number, since: number, rules: PublishingRules): number | null {
  const ms = rules.scanAfterMs[step]
  return ms === undefined ? null : since + ms
}
