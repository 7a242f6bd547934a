/**
 * Idempotency-Key: the first answer is kept with the effect, in the effect's own transaction, and
 * given again to whoever repeats the request. Only success is kept: a verb that throws takes its
 * row with it.
 */
import type { Run } from '../../domain/run.ts'
import { isActive, leaseIsLost } from '../../domain/run.ts'
import { InvalidInputError } from '../../errors.ts'
import type { Once } from '../../store.ts'
import type { Verb } from '../sql.ts'
import { sql } from '../sql.ts'
import { selectRun } from '../tables/run-table.ts'
import type { VerbContext } from './context.ts'

const keptMs = 24 * 60 * 60 * 1000

export type AnsweredHold = Pick<Run, 'id' | 'fence' | 'leaseHash'>

export interface OnceRules<T> {
  /** The hold that must still be the newest and live for the answer to be worth repeating. */
  readonly holdOf?: (result: T) => AnsweredHold | null
}

/** `T` must survive JSON: it is sealed as text. A null result is not kept. */
export function* withOnce<T>(
  context: VerbContext,
  once: Once | null,
  verb: () => Verb<T>,
  rules: OnceRules<T> = {},
): Verb<T> {
  if (once === null) return yield* verb()
  const kept = yield* lockKey(context, once)
  if (kept !== null) {
    const result = JSON.parse(once.open(kept)) as T
    if (rules.holdOf === undefined || (yield* stillHeld(context, rules.holdOf(result)))) {
      return result
    }
  }
  const result = yield* verb()
  yield* result === null ? forget(once) : keep(context, once, JSON.stringify(result))
  return result
}

/** Takes the key's row, so that two requests with one key cannot both act. */
function* lockKey(context: VerbContext, once: Once): Verb<string | null> {
  const now = context.now()
  const [row] = yield sql`INSERT INTO idempotency (key_hash, body_hash, created_at)
    VALUES (${once.keyHash}, ${once.bodyHash}, ${now})
    ON CONFLICT (key_hash) DO UPDATE SET key_hash = excluded.key_hash
    RETURNING body_hash, sealed, created_at`
  if (row === undefined || row['sealed'] === null) return null
  if (Number(row['created_at']) <= now - keptMs) return null
  if (row['body_hash'] !== once.bodyHash) {
    throw new InvalidInputError(
      'idempotency_key_reused',
      'Idempotency-Key',
      'this Idempotency-Key was used with another body',
      { hint: 'Use a new key for a new request; repeat a key only with the same body.' },
    )
  }
  return row['sealed'] as string
}

function* keep(context: VerbContext, once: Once, text: string): Verb<void> {
  yield sql`UPDATE idempotency SET body_hash = ${once.bodyHash}, sealed = ${once.seal(text)},
    created_at = ${context.now()} WHERE key_hash = ${once.keyHash}`
}

function* forget(once: Once): Verb<void> {
  yield sql`DELETE FROM idempotency WHERE key_hash = ${once.keyHash}`
}

function* stillHeld(context: VerbContext, answered: AnsweredHold | null): Verb<boolean> {
  if (answered === null) return false
  const run = yield* selectRun(answered.id)
  if (run === null) return false
  const isNewest = run.fence === answered.fence && run.leaseHash === answered.leaseHash
  return isNewest && isActive(run) && !leaseIsLost(run, context.moment())
}
