/** When things are tried, shown and looked at again. All times are milliseconds. */
import type { Delivery } from './delivery.ts'

export interface PublishingRules {
  /** Smallest gap between two edits of one target; 0 is off. */
  readonly coalesceMs: number
  /** Between two looks for the same thing. */
  readonly confirmDelayMs: number
}

export const defaultPublishing: PublishingRules = { coalesceMs: 2000, confirmDelayMs: 5000 }

/** Longer than a request may take, so that nobody writes under a lease that is over. */
export const deliveryLeaseMs = 20_000
export const requestTimeoutMs = 10_000
/** Between the last moment a request may leave and the end of what it may take. */
export const leaseMarginMs = 2000

const hourMs = 3_600_000
const deadlineMs = { state: 24 * hourMs, message: 72 * hourMs } as const

/** The commit may not be visible yet. */
const commitHiddenMs = 120_000

const quickMs = [1000, 2000, 4000] as const
const backgroundMs = [15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000] as const

const settleAfterMs = [15_000, 120_000] as const
const scanAfterMs = [60_000, 900_000] as const

/** Before try `tries` + 1; `jitter` in [0, 1) spreads the later ones. */
export function backoffMs(tries: number, jitter: number): number {
  const quick = quickMs[tries - 1]
  if (quick !== undefined) return quick
  const slow = backgroundMs[Math.min(tries - quickMs.length, backgroundMs.length) - 1]
  return Math.round((slow ?? quickMs[0]) * (1 + jitter / 4))
}

export function deadlineFor(kind: Delivery['kind'], now: number): number {
  return now + deadlineMs[kind]
}

/** The longer a run has been shown, the rarer its progress is. */
export function windowMs(shownMs: number, { coalesceMs }: PublishingRules): number {
  if (shownMs >= 600_000) return coalesceMs * 30
  return shownMs >= 60_000 ? coalesceMs * 5 : coalesceMs
}

/** When the newest version may be written, if nothing else stands in its way. */
export function showAt(delivery: Delivery, now: number, rules: PublishingRules): number {
  const { final, sentAt, sentFence, versionFence, shownSince } = delivery
  if (final || sentAt === null || sentFence !== versionFence) return now
  return Math.max(now, sentAt + windowMs(now - (shownSince ?? now), rules))
}

export function isFresh(delivery: Delivery, now: number): boolean {
  return now - delivery.createdAt < commitHiddenMs
}

export function settleAt(step: number, since: number): number | null {
  const ms = settleAfterMs[step]
  return ms === undefined ? null : since + ms
}

export function scanAt(step: number, since: number): number | null {
  const ms = scanAfterMs[step]
  return ms === undefined ? null : since + ms
}
