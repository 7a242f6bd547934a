/**
 * Notices when holders could not have reached us: this process was down, asleep or stuck, the
 * store was away, or its clock jumped. All four look the same from here: the time between two
 * beats is longer than it should be. Leases that ran out in such a gap get one full lease more.
 */
import type { Interruption } from '../domain/run.ts'

/** Beats come every second; a gap this long means that some did not happen. */
const gapMs = 3000
/** The longest lease: after it, a gap can excuse nobody any more. */
const memoryMs = 3_600_000

export class Continuity {
  #lastBeatAt: number | null = null
  #interruptions: readonly Interruption[] = []

  get interruptions(): readonly Interruption[] {
    return this.#interruptions
  }

  /** At the start: everything since the last sign of life of any server is a gap. */
  begin(aliveAt: number | null, now: number): void {
    this.#lastBeatAt = now
    // A sign of life from the future: the clock was set back, and nobody knows for how long we
    // were away. Then everything still running counts as run out while we were.
    if (aliveAt !== null) this.#note({ beganAt: aliveAt < now ? aliveAt : -Infinity, endedAt: now })
  }

  /** The store answered at `now`. Counts only after `begin`: who serves nobody misses nobody. */
  beat(now: number): void {
    const last = this.#lastBeatAt
    if (last === null) return
    this.#lastBeatAt = now
    if (now - last >= gapMs) this.#note({ beganAt: last, endedAt: now })
  }

  #note(gap: Interruption): void {
    const recent = this.#interruptions.filter(({ endedAt }) => gap.endedAt - endedAt < memoryMs)
    this.#interruptions = [...recent, gap]
  }
}
