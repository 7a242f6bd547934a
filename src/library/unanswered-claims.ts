/**
 * Claims whose answer never came: the store may have granted them. Their secrets are kept, so that
 * the next claim of the key is told of its own lease and not that somebody else is at work.
 *
 * What must hold: one secret is used by one claim at a time, or two gates would be let through
 * with one lease. What is kept is bounded in number and in time.
 */
import type { Clock } from '../clock.ts'
import { RecentMap } from './recent-map.ts'

/** A lease that ran out is claimed anew anyway; an absence of the store makes it last longer. */
const keptMs = 60 * 60_000
/** Of one key, when claims of it go unanswered again and again. */
const secretsMax = 20

interface Unanswered {
  readonly secret: string
  readonly until: number
}

export class UnansweredClaims {
  readonly #clock: Clock
  readonly #kept = new RecentMap<readonly Unanswered[]>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** What is taken is not there for others until it is kept again. */
  take(key: string): readonly string[] {
    const now = this.#clock.monotonicMs()
    const kept = (this.#kept.get(key) ?? []).filter(({ until }) => until > now)
    this.#kept.delete(key)
    return kept.map(({ secret }) => secret)
  }

  /** The newest last. */
  keep(key: string, secrets: readonly string[]): void {
    if (secrets.length === 0) return
    const until = this.#clock.monotonicMs() + keptMs
    // Others may have been kept since these were taken.
    const all = [...(this.#kept.get(key) ?? []), ...secrets.map((secret) => ({ secret, until }))]
    this.#kept.set(key, all.slice(-secretsMax))
  }
}
