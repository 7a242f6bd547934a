/**
 * Times as an anchor comment shows them: UTC and absolute, because a comment that spoke of "a
 * minute ago" would be wrong a minute later.
 */
import type { AnchorWords, Duration } from '../../domain/outbox/words/words.ts'

const dayMs = 86_400_000

const dayOf = (at: number): number => Math.floor(at / dayMs)

/** `12:04` */
export function clockTime(at: number): string {
  return new Date(at).toISOString().slice(11, 16)
}

/** `7 Aug` */
export function dayAndMonth(at: number, { months }: AnchorWords): string {
  const date = new Date(at)
  return `${date.getUTCDate()} ${months[date.getUTCMonth()] ?? ''}`
}

/** `7 Aug 2026, 12:04 UTC` */
export function fullTime(at: number, words: AnchorWords): string {
  return `${fullDay(at, words)}, ${clockTime(at)} UTC`
}

/** `7 Aug 2026, 12:04–12:09 UTC`, with the second day where there is one. */
export function timeRange(from: number, to: number, words: AnchorWords): string {
  const start = `${fullDay(from, words)}, ${clockTime(from)}`
  if (dayOf(from) !== dayOf(to)) return `${start} – ${fullTime(to, words)}`
  const end = clockTime(to)
  return end === clockTime(from) ? `${start} UTC` : `${start}–${end} UTC`
}

function fullDay(at: number, words: AnchorWords): string {
  return `${dayAndMonth(at, words)} ${new Date(at).getUTCFullYear()}`
}

/** `12:04`, with the day when it is not the newest one's. */
export function reportTime(at: number, newestAt: number, words: AnchorWords): string {
  const time = clockTime(at)
  return dayOf(at) === dayOf(newestAt) ? time : `${dayAndMonth(at, words)} ${time}`
}

export function durationOf(ms: number): Duration {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  return {
    days: Math.floor(seconds / 86_400),
    hours: Math.floor(seconds / 3600) % 24,
    minutes: Math.floor(seconds / 60) % 60,
    seconds: seconds % 60,
  }
}
