/**
 * Notices when holders could not have reached us: this process was down, asleep or stuck, the
 * store was away, or its clock jumped ahead. All four look the same from here: the time between two
 * beats is longer than it should be. And notices when the clock was set back.
 */
import type { Interruption } from '../../domain/run.ts'

/** Beats come every second; a gap this long means that some did not happen. */
const gapMs = 3000
/** Twice the longest lease: after it, a gap can excuse nobody any more. */
const memoryMs = 7_200_000
const keptMax = 100

export class Continuity {
  #lastBeatAt: number | null = null
  #lastSeenAt: number | null = null
  #interruptions: readonly Interruption[] = []
  #setBackMs = 0

  /** In the order in which they ended. */
  get interruptions(): readonly Interruption[] {
    return this.#interruptions
  }

  /** By how much the clock went back since `mended`; 0 when it did not. */
  get setBackMs(): number {
    return this.#setBackMs
  }

  /** What the clock that was ahead left behind is put right. */
  corrected(): void {
    this.#setBackMs = 0
  }

  /** Everything since `aliveAt` is a gap: the last sign of life of any server, or null. */
  begin(aliveAt: number | null, now: number): void {
    this.#lastBeatAt = now
    this.see(now)
    if (aliveAt === null) return
    this.#noteSetBack(aliveAt, now)
    // A sign of life from the future: nobody knows for how long we were away. Then everything still
    // running counts as run out while we were.
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

  /** What others have noticed, or we before our restart. */
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

/** Each once, none of them in the future, and no more than can still matter. */
export function recentOf(all: readonly Interruption[], now: number): readonly Interruption[] {
  const byText = new Map<string, Interruption>()
  for (const { beganAt, endedAt } of all) {
    const gap = { beganAt, endedAt: Math.min(endedAt, now) }
    const isRecent = now - gap.endedAt < memoryMs && gap.beganAt < gap.endedAt
    if (isRecent) byText.set(`${gap.beganAt} ${gap.endedAt}`, gap)
  }
  return [...byText.values()].toSorted((a, b) => a.endedAt - b.endedAt).slice(-keptMax)
}
