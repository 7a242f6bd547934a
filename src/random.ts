/**
 * The only file that asks the machine for randomness. Everything else is handed a Random, so that
 * a simulation with the same seed makes the same ids and the same jitter.
 */
import { randomBytes, randomInt } from 'node:crypto'

export interface Random {
  /** Bytes fit for secrets when this is the system's Random. */
  bytes(count: number): Buffer
  /** A whole number in [0, below). */
  below(below: number): number
}

export const systemRandom: Random = {
  bytes: (count) => randomBytes(count),
  below: (below) => randomInt(below),
}
