/** What PostgreSQL's SQLSTATEs and broken connections mean. Told apart by code, never by text. */
import { HoldfastError, StoreUnavailableError } from '../../errors.ts'
import { LostRace } from '../driver.ts'

/** Unique violation between concurrent inserts, serialisation failure, deadlock. */
const repeatable = new Set(['23505', '40001', '40P01'])
/** A lock was not to be had within the session's patience. */
const lockNotAvailable = '55P03'
/** Connection trouble, shutdown, starting up, too many connections, full disk, read-only. */
const unavailableClasses = ['08', '53', '57', '58', '25006']

function stateOf(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error)) return null
  return typeof error.code === 'string' ? error.code : null
}

export function isRepeatable(error: unknown): boolean {
  return repeatable.has(stateOf(error) ?? '')
}

export function mapPostgresError(error: unknown): unknown {
  if (error instanceof HoldfastError) return error
  if (error instanceof LostRace) return unavailable('store_contended', 'too many at once', error)
  const state = stateOf(error)
  if (state === null) {
    // pg reports a cut connection and a pool timeout as plain errors without a code.
    const isOurs = error instanceof TypeError || error instanceof RangeError
    return isOurs ? error : unavailable('store_unreachable', 'the database is unreachable', error)
  }
  if (repeatable.has(state) || state === lockNotAvailable) {
    return unavailable('store_contended', 'too many at once', error)
  }
  const isSqlState = /^[0-9A-Z]{5}$/.test(state)
  if (!isSqlState || unavailableClasses.some((prefix) => state.startsWith(prefix))) {
    return unavailable('store_unreachable', 'the database is unreachable', error)
  }
  return error
}

function unavailable(code: string, message: string, cause: unknown): StoreUnavailableError {
  return new StoreUnavailableError(code, message, { cause })
}
