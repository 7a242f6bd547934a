/**
 * Whether GitHub's answer means that we are limited, and until when to send nothing. GitHub may ban
 * an integration that continues while it is limited. So an unclear answer counts as a limit.
 *
 * What must hold: the status and the fields decide. The only text that counts is the message of a
 * 403, because some secondary limits have no other sign.
 */
import type { Answer } from './errors.ts'

/** GitHub's documentation asks for this wait if the answer names no time. */
const unnamedWaitMs = 60_000
/** The shortest wait, also if the time is already over by our clock. */
const waitMsMin = 1000
const waitSecondsMax = 1_000_000_000

/** The page about limits. `/rest/rate-limit/…` describes an endpoint and is no sign of a limit. */
const pageOnLimits = /rate-limits|rate-limiting|abuse/i
const namesLimit = /rate limit|abuse/i

export function isLimited({ status, headers, body }: Answer): boolean {
  if (status < 400 || status >= 500) return false
  if (status === 429 || headers.has('retry-after')) return true
  const { message, documentationUrl } = fieldsOf(body)
  if (pageOnLimits.test(documentationUrl)) return true
  // The last allowed request of an hour also has 0 remaining. Only a 403 is above the limit.
  return status === 403 && (isUsedUp(headers) || namesLimit.test(message))
}

/** GraphQL has one address: `/graphql`, on GitHub Enterprise `/api/graphql`. */
export function isGraphql(url: string): boolean {
  return URL.parse(url)?.pathname.endsWith('/graphql') === true
}

/** GraphQL answers with 200 when its own quota is used up, and names that in the errors. */
export function isGraphqlLimited({ status, body }: Pick<Answer, 'status' | 'body'>): boolean {
  if (status !== 200 || body?.includes('RATE_LIMITED') !== true) return false
  try {
    const { errors } = JSON.parse(body) as { readonly errors?: unknown }
    return Array.isArray(errors) && errors.some(hasLimitType)
  } catch {
    return false
  }
}

const hasLimitType = (error: unknown): boolean =>
  (error as { readonly type?: unknown } | null)?.type === 'RATE_LIMITED'

/** A time of our clock. The wait is computed with GitHub's clock, because ours may be wrong. */
export function limitedUntil(headers: Headers, nowMs: number): number {
  const theirNowMs = dateOf(headers) ?? nowMs
  return nowMs + (askedWaitMs(headers, theirNowMs) ?? resetMs(headers, theirNowMs) ?? unnamedWaitMs)
}

/** Returns null if there is no readable `retry-after`. */
export function askedUntil(headers: Headers, nowMs: number): number | null {
  const waitMs = askedWaitMs(headers, dateOf(headers) ?? nowMs)
  return waitMs === null ? null : nowMs + waitMs
}

/** GitHub's own time, to the second. */
export function dateOf(headers: Headers): number | null {
  const date = Date.parse(headers.get('date') ?? '')
  return Number.isNaN(date) ? null : date
}

function askedWaitMs(headers: Headers, theirNowMs: number): number | null {
  const asked = headers.get('retry-after')?.trim() ?? ''
  if (/^\d+$/.test(asked)) {
    return Math.max(waitMsMin, Math.min(Number(asked), waitSecondsMax) * 1000)
  }
  // Date.parse reads "-5" as a year. Every HTTP date begins with the name of the day.
  const date = /^[A-Z][a-z]{2}/.test(asked) ? Date.parse(asked) : Number.NaN
  return Number.isNaN(date) ? null : Math.max(waitMsMin, date - theirNowMs)
}

function resetMs(headers: Headers, theirNowMs: number): number | null {
  const reset = headers.get('x-ratelimit-reset') ?? ''
  if (!isUsedUp(headers) || !/^\d{1,11}$/.test(reset)) return null
  const waitMs = Number(reset) * 1000 - theirNowMs
  // A reset in the past belongs to another limit.
  return waitMs > 0 ? waitMs : null
}

function isUsedUp(headers: Headers): boolean {
  return headers.get('x-ratelimit-remaining') === '0'
}

function fieldsOf(body: string | null): { message: string; documentationUrl: string } {
  const nothing = { message: '', documentationUrl: '' }
  if (body === null) return nothing
  try {
    const json = JSON.parse(body) as { message?: unknown; documentation_url?: unknown } | null
    return {
      message: typeof json?.message === 'string' ? json.message : '',
      documentationUrl: typeof json?.documentation_url === 'string' ? json.documentation_url : '',
    }
  } catch {
    // Some limits are answered with a page or plain text. Then all of it is the message.
    return { ...nothing, message: body }
  }
}
