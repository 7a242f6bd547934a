/**
 * The only file that asks the machine for randomness. Everything else is handed a Random, so that
 * a simulation with the same seed makes the same ids and the same jitter.
 */
import { randomFillSync, randomInt } from 'node:crypto'

export interface Random {
  /** Bytes fit for secrets when this is the system's Random. */
  bytes(count: number): Buffer
  /** A whole number in [0, below). */
  below(below: number): number
}

const pool = Buffer.allocUnsafeSlow(8192)
let used = pool.length

/** Asking the machine costs more than the bytes do, so they are fetched many at a time. */
function takeBytes(count: number): Buffer {
  if (count > pool.length) return randomFillSync(Buffer.allocUnsafe(count))
  if (used + count > pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const taken = Buffer.from(pool.subarray(used, used + count))
  // What was handed out is nowhere else.
  pool.fill(0, used, used + count)
  used += count
  return taken
}

export const systemRandom: Random = {
  bytes: takeBytes,
  below: (below) => randomInt(below),
}
