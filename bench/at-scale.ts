/**
 * What a full store costs: compares claims of new heads in a store with a month of history and in a
 * store that was empty at the start. The two take turns and stay open in all rounds. The benchmark
 * adds the same number of claims to both.
 */
import type { Claim } from '../src/domain/claim.ts'
import type { Store } from '../src/store.ts'
import type { Result } from './result.ts'
import { compare, takeTurns } from './rounds.ts'
import { crowdRate, newHeads } from './workload.ts'

export interface AtScaleOptions {
  readonly database: string
  readonly full: Store
  readonly empty: Store
  readonly stored: number
  readonly rounds: number
  readonly claims: number
}

export async function measureAtScale(options: AtScaleOptions): Promise<Result> {
  const { database, full, empty, stored, rounds, claims } = options
  const rate = (store: Store) => () =>
    crowdRate(newHeads(claims), (claim: Claim) => store.runs.claim(claim, null))
  const [fullRates = [], emptyRates = []] = await takeTurns([rate(full), rate(empty)], rounds)
  return {
    what: `${database}, ${stored.toLocaleString('en')} runs stored`,
    against: 'empty store',
    bound: 0.8,
    ...compare(fullRates, emptyRates),
  }
}
