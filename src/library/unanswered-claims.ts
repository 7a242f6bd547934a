/**
 * Claims whose answer never arrived. The store may have granted them. Their secrets are kept, so
 * that the next claim of the key gets that lease, and not the answer that somebody else is working.
 *
 * What must hold: one secret is used by one claim at a time. Otherwise two gates would be let
 * through with one lease. The number of secrets and their age are limited.
 */
import type { Clock } from '../clock.ts'
import { RecentMap } from '../recent-map.ts'

/** An expired lease can be claimed again anyway. A lease lasts longer while the store is away. */
const keptMs = 60 * 60_000
/** For each key. */
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

  /** Nobody else gets these secrets until they are kept again. */
  take(key: string): readonly string[] {
    const now = this.#clock.monotonicMs()
    const kept = (this.#kept.get(key) ?? []).filter(({ until }) => until > now)
    this.#kept.delete(key)
    return kept.map(({ secret }) => secret)
  }

  /** `secrets` has the newest last. */
  keep(key: string, secrets: readonly string[]): void {
    if (secrets.length === 0) return
    const until = this.#clock.monotonicMs() + keptMs
    // Other claims may have stored secrets since these were taken.
    const all = [...(this.#kept.get(key) ?? []), ...secrets.map((secret) => ({ secret, until }))]
    this.#kept.set(key, all.slice(-secretsMax))
  }
}
