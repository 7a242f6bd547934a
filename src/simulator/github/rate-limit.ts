/**
 * Limits per identity: the hourly quota that every answer shows, a block until a given time and, if
 * a test sets them, the most writes per minute and hour.
 *
 * What must hold: a refused request changes nothing and is not counted as a write.
 */
import { docsUrl, Refusal } from './refusal.ts'
import type { World } from './state/world.ts'

export interface ContentLimits {
  readonly perMinute?: number
  readonly perHour?: number
  /** Least time between two writes, in milliseconds. */
  readonly spacing?: number
}

export type LimitForm = 'retry-after' | 'plain' | 'bare'

interface Usage {
  windowEndsAt: number
  used: number
  exhaustedUntil: number
  block: { readonly until: number; readonly form: LimitForm } | null
  /** Times of the writes of the last hour. */
  writes: number[]
}

export interface RateLimits {
  /** Counts a request; throws a 403 above a limit. `isWrite`: it creates or changes content. */
  count(key: string, isWrite: boolean): void
  headers(key: string): Record<string, string>
  /** As in the answer of `GET /rate_limit`. */
  quota(key: string): { limit: number; remaining: number; used: number; reset: number }
  exhaust(key: string, forMs: number): void
  block(key: string, forMs: number, form: LimitForm): void
}

const hourMs = 60 * 60 * 1000
const minuteMs = 60 * 1000
const hourlyQuota = 5000

export const limitsPage = `${docsUrl}/using-the-rest-api/rate-limits-for-the-rest-api`

const secondaryMessage =
  'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.'

export function createRateLimits(world: World, limits: ContentLimits): RateLimits {
  const usages = new Map<string, Usage>()

  function usageOf(key: string): Usage {
    const now = world.nowMs()
    const newUsage = {
      windowEndsAt: now + hourMs,
      used: 0,
      exhaustedUntil: 0,
      block: null,
      writes: [],
    }
    const usage = usages.get(key) ?? newUsage
    usages.set(key, usage)
    if (usage.windowEndsAt <= now) Object.assign(usage, { windowEndsAt: now + hourMs, used: 0 })
    return usage
  }

  function quota(key: string) {
    const usage = usageOf(key)
    const isExhausted = usage.exhaustedUntil > world.nowMs()
    const used = isExhausted ? hourlyQuota : Math.min(usage.used, hourlyQuota)
    const endsAt = isExhausted ? usage.exhaustedUntil : usage.windowEndsAt
    const reset = Math.ceil((endsAt + world.aheadMs) / 1000)
    return { limit: hourlyQuota, remaining: hourlyQuota - used, used, reset }
  }

  return {
    count: (key, isWrite) => {
      const usage = usageOf(key)
      const now = world.nowMs()
      if (usage.block !== null && usage.block.until > now) {
        throw secondaryLimit(usage.block.form, usage.block.until - now)
      }
      if (quota(key).remaining === 0) throw primaryLimit(key)
      usage.used++
      if (!isWrite) return
      const waitMs = waitBeforeWrite(usage, limits, now)
      if (waitMs > 0) throw secondaryLimit('retry-after', waitMs)
      usage.writes.push(now)
    },
    headers: (key) => {
      const { limit, remaining, used, reset } = quota(key)
      return {
        'x-ratelimit-limit': String(limit),
        'x-ratelimit-remaining': String(remaining),
        'x-ratelimit-used': String(used),
        'x-ratelimit-reset': String(reset),
        'x-ratelimit-resource': 'core',
      }
    },
    quota: quota,
    exhaust: (key, forMs) => {
      usageOf(key).exhaustedUntil = world.nowMs() + forMs
    },
    block: (key, forMs, form) => {
      usageOf(key).block = { until: world.nowMs() + forMs, form }
    },
  }
}

function waitBeforeWrite(usage: Usage, limits: ContentLimits, now: number): number {
  usage.writes = usage.writes.filter((at) => at > now - hourMs)
  const waitForWindow = (max: number | undefined, windowMs: number): number => {
    if (max === undefined) return 0
    const writesInWindow = usage.writes.filter((at) => at > now - windowMs)
    const blockingWrite = writesInWindow.at(-max)
    return writesInWindow.length < max || blockingWrite === undefined
      ? 0
      : blockingWrite + windowMs - now
  }
  const last = usage.writes.at(-1)
  const waitForSpacing = last === undefined ? 0 : last + (limits.spacing ?? 0) - now
  return Math.max(
    waitForSpacing,
    waitForWindow(limits.perMinute, minuteMs),
    waitForWindow(limits.perHour, hourMs),
  )
}

/** `plain` has no `retry-after`; `bare` has only the message. GitHub sends all of these forms. */
export function secondaryLimit(form: LimitForm, waitMs: number): Refusal {
  const message = secondaryMessage
  if (form === 'bare') return new Refusal(403, { message, documentation_url: null })
  const page = `${limitsPage}#about-secondary-rate-limits`
  const headers: Record<string, string> =
    form === 'plain' ? {} : { 'retry-after': String(Math.max(1, Math.ceil(waitMs / 1000))) }
  return new Refusal(403, { message, documentation_url: page }, headers)
}

function primaryLimit(key: string): Refusal {
  return new Refusal(403, {
    message: `API rate limit exceeded for ${key}.`,
    documentation_url: limitsPage,
  })
}
