/**
 * How GitHub says "not now", and until when to keep quiet. Going on while limited can get an
 * integration banned, so a sign too many is the better mistake.
 *
 * What must hold: signs are read from status and fields. The one text that counts is the message
 * of a 403, because GitHub sends some secondary limits with nothing else to tell them by.
 */
import type { Answer } from './errors.ts'

/** What GitHub asks for where it names no time. */
const unnamedWaitMs = 60_000
/** A wait that has just run out by our reckoning still leaves the other side a moment. */
const waitMsMin = 1000
const waitSecondsMax = 1_000_000_000

/** The page about limits; `/rest/rate-limit/…` is the reference of an endpoint and no sign. */
const pageOnLimits = /rate-limits|rate-limiting|abuse/i
const namesLimit = /rate limit|abuse/i

export function isLimited({ status, headers, body }: Answer): boolean {
  if (status < 400 || status >= 500) return false
  if (status === 429 || headers.has('retry-after')) return true
  const { message, documentationUrl } = fieldsOf(body)
  if (pageOnLimits.test(documentationUrl)) return true
  // Any answer may be the last of its hour and carry a 0: only a 403 was one too many.
  return status === 403 && (isUsedUp(headers) || namesLimit.test(message))
}

/** By our clock. The waiting time is taken from GitHub's, so that ours may be wrong. */
export function quietUntil(headers: Headers, nowMs: number): number {
  const theirNowMs = dateOf(headers) ?? nowMs
  return nowMs + (askedWaitMs(headers, theirNowMs) ?? resetMs(headers, theirNowMs) ?? unnamedWaitMs)
}

/** Null when there is no `retry-after`, or none that can be read. */
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
  // Date.parse would take a "-5" for a year; every HTTP date opens with the day's name.
  const date = /^[A-Z][a-z]{2}/.test(asked) ? Date.parse(asked) : Number.NaN
  return Number.isNaN(date) ? null : Math.max(waitMsMin, date - theirNowMs)
}

function resetMs(headers: Headers, theirNowMs: number): number | null {
  const reset = headers.get('x-ratelimit-reset') ?? ''
  if (!isUsedUp(headers) || !/^\d{1,11}$/.test(reset)) return null
  const waitMs = Number(reset) * 1000 - theirNowMs
  // A reset in the past is left over from another limit: it says nothing about this one.
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
    // Some limits come as a page or a bare line: then all of it is the message.
    return { ...nothing, message: body }
  }
}
