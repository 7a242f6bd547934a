/**
 * Random numbers from a seed: the same seed gives the same numbers. They are not fit for secrets,
 * and the simulation has none.
 */
import type { Random } from '../random.ts'

export class SeededRandom implements Random {
  #state: number

  constructor(seed: number) {
    this.#state = (seed ^ 0x9e3779b9) >>> 0
    // Neighbouring seeds give similar first numbers; after a few turns they differ.
    for (let turn = 0; turn < 8; turn++) this.#next()
  }

  bytes(count: number): Buffer {
    const bytes = Buffer.allocUnsafe(count)
    for (let index = 0; index < count; index++) bytes[index] = this.#next() & 0xff
    return bytes
  }

  below(below: number): number {
    return Math.floor((this.#next() / 0x1_0000_0000) * below)
  }

  /** Between the two, both included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  chance(percent: number): boolean {
    return this.below(100) < percent
  }

  pick<const T extends readonly [unknown, ...unknown[]]>(items: T): T[number] {
    return items[this.below(items.length)] ?? items[0]
  }

  pickFrom<T>(items: readonly T[]): T | undefined {
    return items.length === 0 ? undefined : items[this.below(items.length)]
  }

  /** A new generator. Its numbers do not depend on how many are drawn from this one later. */
  fork(): SeededRandom {
    return new SeededRandom(this.#next())
  }

  /** Mulberry32: 32 bits of state are enough for one seed. */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
}
