/**
 * Idempotency-Key: the transaction that has the effect also stores the first answer. Whoever
 * repeats the request gets that answer again. Only success is stored: when a verb throws, its row
 * is rolled back too.
 */
import type { Run } from '../../domain/run.ts'
import { isActive, leaseIsLost } from '../../domain/run.ts'
import { InvalidInputError } from '../../errors.ts'
import type { IdempotencyKey } from '../../store.ts'
import type { Verb } from '../sql.ts'
import { sql } from '../sql.ts'
import { selectRun } from '../tables/run-table.ts'
import type { VerbContext } from './context.ts'

const keptMs = 24 * 60 * 60 * 1000

export type AnsweredHold = Pick<Run, 'id' | 'fence' | 'leaseHash'>

export interface ReplayRules<T> {
  /** The answer is repeated only while this lease is the newest of its run and still valid. */
  readonly holdOf?: (result: T) => AnsweredHold | null
}

/**
 * The answer is stored as encrypted JSON, so `T` must survive JSON. A null result is not stored.
 */
export function* withIdempotencyKey<T>(
  context: VerbContext,
  idempotencyKey: IdempotencyKey | null,
  verb: () => Verb<T>,
  rules: ReplayRules<T> = {},
): Verb<T> {
  if (idempotencyKey === null) return yield* verb()
  const kept = yield* lockKey(context, idempotencyKey)
  if (kept !== null) {
    const result = JSON.parse(idempotencyKey.open(kept)) as T
    if (rules.holdOf === undefined || (yield* stillHeld(context, rules.holdOf(result)))) {
      return result
    }
  }
  const result = yield* verb()
  yield* result === null
    ? forget(idempotencyKey)
    : keep(context, idempotencyKey, JSON.stringify(result))
  return result
}

/** Locks the row of the key, so that two requests with one key cannot both act. */
function* lockKey(context: VerbContext, idempotencyKey: IdempotencyKey): Verb<string | null> {
  const now = context.now()
  const [row] = yield sql`INSERT INTO idempotency (key_hash, body_hash, created_at)
    VALUES (${idempotencyKey.keyHash}, ${idempotencyKey.bodyHash}, ${now})
    ON CONFLICT (key_hash) DO UPDATE SET key_hash = excluded.key_hash
    RETURNING body_hash, sealed, created_at`
  if (row === undefined || row['sealed'] === null) return null
  if (Number(row['created_at']) <= now - keptMs) return null
  if (row['body_hash'] !== idempotencyKey.bodyHash) {
    throw new InvalidInputError(
      'idempotency_key_reused',
      'Idempotency-Key',
      'this Idempotency-Key was used with another body',
      { hint: 'Use a new key for a new request; repeat a key only with the same body.' },
    )
  }
  return row['sealed'] as string
}

function* keep(context: VerbContext, idempotencyKey: IdempotencyKey, text: string): Verb<void> {
  const { keyHash, bodyHash, seal } = idempotencyKey
  yield sql`UPDATE idempotency SET body_hash = ${bodyHash}, sealed = ${seal(text)},
    created_at = ${context.now()} WHERE key_hash = ${keyHash}`
}

function* forget(idempotencyKey: IdempotencyKey): Verb<void> {
  yield sql`DELETE FROM idempotency WHERE key_hash = ${idempotencyKey.keyHash}`
}

function* stillHeld(context: VerbContext, answered: AnsweredHold | null): Verb<boolean> {
  if (answered === null) return false
  const run = yield* selectRun(answered.id)
  if (run === null) return false
  const isNewest = run.fence === answered.fence && run.leaseHash === answered.leaseHash
  return isNewest && isActive(run) && !leaseIsLost(run, context.moment())
}
