/**
 * Notices when holders could not reach us: this process was down, asleep or stuck, the store was
 * down, or its clock jumped ahead. All of them look the same: the time between two signs of life
 * (beats) is too long. Also notices when the clock was set back.
 */
import type { Interruption } from '../../domain/run.ts'

/** Beats come every second; after a gap this long some are missing. */
const gapMs = 3000
/** Twice the longest lease: an older gap can extend no lease. */
const memoryMs = 7_200_000
const keptMax = 100

export class Continuity {
  #lastBeatAt: number | null = null
  #lastSeenAt: number | null = null
  #interruptions: readonly Interruption[] = []
  #setBackMs = 0

  /** In the order of their ends. */
  get interruptions(): readonly Interruption[] {
    return this.#interruptions
  }

  /** By how much the clock went back since `corrected`; 0 when it did not. */
  get setBackMs(): number {
    return this.#setBackMs
  }

  /** The stored times were corrected. */
  corrected(): void {
    this.#setBackMs = 0
  }

  /** Everything since `aliveAt` is a gap: the last sign of life of any server, or null. */
  begin(aliveAt: number | null, now: number): void {
    this.#lastBeatAt = now
    this.see(now)
    if (aliveAt === null) return
    this.#noteSetBack(aliveAt, now)
    // A sign of life from the future: nobody knows how long we were down. Then every lease counts
    // as run out during that time.
    this.#note([{ beganAt: aliveAt < now ? aliveAt : 0, endedAt: now }], now)
  }

  /** The clock says `now`, whether the store answers or not. */
  see(now: number): void {
    const last = this.#lastSeenAt
    this.#lastSeenAt = now
    if (last !== null) this.#noteSetBack(last, now)
  }

  /** The store answered at `now`. Counts only after `begin`. */
  beat(now: number): void {
    this.see(now)
    const last = this.#lastBeatAt
    if (last === null) return
    this.#lastBeatAt = now
    if (now - last >= gapMs) this.#note([{ beganAt: last, endedAt: now }], now)
  }

  /** Interruptions that other processes stored, or this one before a restart. */
  learn(others: readonly Interruption[], now: number): void {
    this.#note(others, now)
  }

  #noteSetBack(before: number, now: number): void {
    if (before - now < gapMs) return
    this.#setBackMs = Math.max(this.#setBackMs, before - now)
    this.#note([], now)
  }

  #note(more: readonly Interruption[], now: number): void {
    this.#interruptions = recentOf([...this.#interruptions, ...more], now)
  }
}

/** Each once, none in the future, and only those that can still matter. */
export function recentOf(all: readonly Interruption[], now: number): readonly Interruption[] {
  const byText = new Map<string, Interruption>()
  for (const { beganAt, endedAt } of all) {
    const gap = { beganAt, endedAt: Math.min(endedAt, now) }
    const isRecent = now - gap.endedAt < memoryMs && gap.beganAt < gap.endedAt
    if (isRecent) byText.set(`${gap.beganAt} ${gap.endedAt}`, gap)
  }
  return [...byText.values()].toSorted((a, b) => a.endedAt - b.endedAt).slice(-keptMax)
}
