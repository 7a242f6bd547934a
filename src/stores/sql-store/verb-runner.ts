/**
 * Runs the verbs of the store: reads, transactions, and transactions with an Idempotency-Key. Verbs
 * that change a run take turns, so that many callers of one lock use few connections.
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
  /** Null on SQLite, where transactions follow one another anyway. */
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

  /** For verbs that change a run: they take turns. */
  withKeyInTurn<T>(runId: string, withKey: IdempotencyKey | null, verb: () => Verb<T>): Promise<T> {
    return this.inTurn(runId, () => this.withKey(withKey, verb))
  }
}
