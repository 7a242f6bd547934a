/**
 * The source of random numbers in tests: one seed, the same on every machine, so that what a test
 * covers depends neither on the machine nor on the day, and a failure can be repeated.
 * `TEST_SEED=7` tries other cases.
 */
import { systemRandom, type Random } from '../src/random.ts'

export const seed = Number(process.env['TEST_SEED'] ?? 1)

/**
 * Random numbers for parts of the product that a test also gives its own clock. Ids and secrets
 * come from the machine: they only have to differ, also between stores that share a database.
 */
export const seededChance = (): Random => ({ ...systemRandom, below: seeded(seed) })

export type Below = (below: number) => number

/** Mulberry32: small, and good enough to shuffle. */
export function seeded(seed: number): Below {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}
