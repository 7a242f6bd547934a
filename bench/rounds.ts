/**
 * Peers measured side by side. Machines are noisy and drift, so peers take turns (A B, A B, …) and
 * are compared within a round; the median over the rounds is what counts. The first round warms
 * caches and compilers and is thrown away.
 */

/** Does one round of work and returns how many claims it made per second. */
export type Peer = () => Promise<number>

/** Claims per second, one list per peer, one number per round. */
export async function takeTurns(peers: readonly Peer[], rounds: number): Promise<number[][]> {
  const rates: number[][] = peers.map(() => [])
  for (let round = 0; round <= rounds; round++) {
    for (const [i, peer] of peers.entries()) {
      const rate = await peer()
      if (round > 0) rates[i]?.push(rate)
    }
  }
  return rates
}

export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2
}

export interface Comparison {
  readonly ours: number
  readonly peer: number
  /** The median of the rounds' own ratios, not the ratio of the two medians. */
  readonly ratio: number
}

export function compare(ours: readonly number[], peer: readonly number[]): Comparison {
  const ratios = ours.map((rate, round) => rate / (peer[round] ?? Number.NaN))
  return { ours: median(ours), peer: median(peer), ratio: median(ratios) }
}
