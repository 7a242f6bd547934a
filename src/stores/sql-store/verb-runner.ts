/**
 * How a noun of the store runs its verbs: reads, transactions, and those with an Idempotency-Key.
 * What changes a run waits for its turn, so that many who want one lock hold few connections.
 */
import type { IdempotencyKey } from '../../store.ts'
import type { Driver } from '../driver.ts'
import type { Verb } from '../sql.ts'
import type { VerbContext } from '../verbs/context.ts'
import type { ReplayRules } from '../verbs/idempotency.ts'
import { withIdempotencyKey } from '../verbs/idempotency.ts'
import type { Turns } from './turns.ts'

export class VerbRunner {
  readonly driver: Driver
  readonly context: VerbContext
  /** Null where one transaction follows the other anyway. */
  readonly #turns: Turns | null

  constructor(driver: Driver, context: VerbContext, turns: Turns | null) {
    this.driver = driver
    this.context = context
    this.#turns = turns
  }

  read<T>(verb: () => Verb<T>): Promise<T> {
    return this.driver.read(verb)
  }

  transact<T>(verb: () => Verb<T>): Promise<T> {
    return this.driver.transact(verb)
  }

  withKey<T>(
    withKey: IdempotencyKey | null,
    verb: () => Verb<T>,
    rules: ReplayRules<T> = {},
  ): Promise<T> {
    return this.driver.transact(() => withIdempotencyKey(this.context, withKey, verb, rules))
  }

  /** For a verb that may have to wait for the lock of this key. */
  inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.#turns === null ? work() : this.#turns.take(key, work)
  }

  /** What changes a run waits for its turn. */
  withKeyInTurn<T>(runId: string, withKey: IdempotencyKey | null, verb: () => Verb<T>): Promise<T> {
    return this.inTurn(runId, () => this.withKey(withKey, verb))
  }
}
