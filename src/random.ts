/**
 * The only file that asks the machine for randomness. Everything else is given a Random, so that a
 * simulation with the same seed makes the same ids and the same pauses.
 */
import { randomFillSync, randomInt } from 'node:crypto'

export interface Random {
  /** The bytes of `systemRandom` are good enough for secrets. */
  bytes(count: number): Buffer
  /** A whole number in [0, below). */
  below(below: number): number
}

const pool = Buffer.allocUnsafeSlow(8192)
let used = pool.length

/** One question to the machine is slow, so many bytes are fetched at a time. */
function takeBytes(count: number): Buffer {
  if (count > pool.length) return randomFillSync(Buffer.allocUnsafe(count))
  if (used + count > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const taken = Buffer.from(pool.subarray(used, used + count))
  // The bytes may become a secret, so they are not kept here.
  pool.fill(0, used, used + count)
  used += count
  return taken
}

export const systemRandom: Random = {
  bytes: takeBytes,
  below: (below) => randomInt(below),
}
