/**
 * What PostgreSQL's SQLSTATEs and broken connections mean. Told apart by code and by where they
 * arose, never by text: only what connecting or a statement rejects with comes here, so that a
 * fault of ours never passes for a store that is away.
 */
import { StoreContendedError, StoreUnavailableError } from '../../errors.ts'
import { LostRace } from '../driver.ts'

/**
 * Worth running again from the start: a unique violation between concurrent inserts, serialisation
 * failure, deadlock, a lock not to be had in time, and a session that was cut because it stood
 * still inside its transaction.
 */
const repeatable = new Set(['23505', '40001', '40P01', '55P03', '25P03'])
/** Connection trouble, shutdown, starting up, no room, too many connections, read-only. */
const unavailableStates = ['08', '53', '57', '58', '25006']

/** A pool whose connections are all taken is busy, not away. */
export function connectFailure(error: unknown, poolIsFull: boolean): Error {
  if (poolIsFull) return contended(error)
  return unavailable(error)
}

export function statementFailure(error: unknown): unknown {
  const state = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (repeatable.has(state)) return new LostRace('run it again', { cause: error })
  // A cut connection has no SQLSTATE.
  const isSqlState = /^[0-9A-Z]{5}$/.test(state)
  const isAway = unavailableStates.some((prefix) => state.startsWith(prefix))
  return isSqlState && !isAway ? error : unavailable(error)
}

export function contended(cause: unknown): StoreContendedError {
  return new StoreContendedError('store_contended', 'too many want the same at once', {
    hint: 'Ask again in a moment. If it stays, look for a transaction that was left open.',
    cause,
  })
}

function unavailable(cause: unknown): StoreUnavailableError {
  return new StoreUnavailableError('store_unreachable', 'the database cannot be reached', {
    hint: 'Check that PostgreSQL runs and that HOLDFAST_DATABASE_URL is right.',
    cause,
  })
}
