/**
 * What PostgreSQL's SQLSTATEs and broken connections mean. They are told apart by code and by where
 * they occur, never by text. Only errors from connecting and from statements come here, so that a
 * bug of ours never looks like an unavailable store.
 */
import { StoreContendedError, StoreUnavailableError } from '../../errors.ts'
import { LostRace } from '../driver.ts'

/**
 * After these the verb runs again from its start: a unique violation between concurrent inserts, a
 * serialisation failure, a deadlock, a lock timeout, a statement or transaction that took too long
 * or was cancelled, and a session that was ended because it was idle inside its transaction. All of
 * them mean that the server is running and busy.
 */
const repeatable = new Set(['23505', '40001', '40P01', '55P03', '57014', '25P03', '25P04'])
/**
 * The server could not read our message. Poolers send the same code, and close the connection, if
 * they have no server.
 */
const refusedMessage = '08P01'
/** Connection trouble, shutdown, starting up, no room, too many connections, read-only. */
const unavailableStates = ['08', '53', '57', '58', '25006']

/** A pool without a free connection is busy, not down. */
export function connectFailure(error: unknown, poolIsFull: boolean): Error {
  if (!poolIsFull) return unavailable(error)
  return new StoreContendedError('store_contended', 'no connection to the database became free', {
    hint:
      'Try again in a moment. If this goes on, look for a transaction that stays open and holds ' +
      'locks, and check that the database answers.',
    cause: error,
  })
}

export function statementFailure(error: unknown): unknown {
  // What could not even be sent, for example because it is too long.
  if (error instanceof RangeError || error instanceof TypeError) return error
  const state = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (state === refusedMessage && !endsSession(error)) return error
  if (repeatable.has(state)) return new LostRace('run it again', { cause: error })
  // A cut connection has no SQLSTATE.
  const isSqlState = /^[0-9A-Z]{5}$/.test(state)
  const isAway = unavailableStates.some((prefix) => state.startsWith(prefix))
  return isSqlState && !isAway ? error : unavailable(error)
}

/** Whether the server closed the connection with this error, so that it cannot be used again. */
export function endsSession(error: unknown): boolean {
  const cause = error instanceof LostRace ? error.cause : error
  return cause instanceof Error && 'severity' in cause && cause.severity === 'FATAL'
}

export function contended(cause: unknown): StoreContendedError {
  return new StoreContendedError('store_contended', 'others held the same rows for too long', {
    hint: 'Try again in a moment. If this goes on, look for an open transaction.',
    cause,
  })
}

function unavailable(cause: unknown): StoreUnavailableError {
  return new StoreUnavailableError('store_unreachable', 'the database cannot be reached', {
    hint: 'Check that PostgreSQL runs and that HOLDFAST_DATABASE_URL is right.',
    cause,
  })
}
