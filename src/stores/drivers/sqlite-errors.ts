/** What SQLite's result codes mean for a caller. Errors are told apart by code, never by text. */
import { HoldfastError, StoreContendedError, StoreUnavailableError } from '../../errors.ts'
import { LostRace } from '../driver.ts'

const codes = {
  busy: 5,
  locked: 6,
  readonly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notADatabase: 26,
} as const

export function resultCode(error: unknown): number | null {
  if (!(error instanceof Error) || !('errcode' in error)) return null
  return typeof error.errcode === 'number' ? error.errcode & 0xff : null
}

export function isBusy(error: unknown): boolean {
  const code = resultCode(error)
  return code === codes.busy || code === codes.locked
}

export function isDamage(error: unknown): boolean {
  const code = resultCode(error)
  return code === codes.corrupt || code === codes.notADatabase
}

/** Our own errors are returned unchanged. So are unknown ones, because they are bugs of ours. */
export function mapSqliteError(error: unknown): unknown {
  if (error instanceof HoldfastError) return error
  if (error instanceof LostRace) return alwaysLost(error)
  switch (resultCode(error)) {
    case codes.busy:
    case codes.locked:
      return busy(error)
    case codes.full:
      return unavailable('store_full', 'the disk that holds the database is full', error)
    case codes.corrupt:
    case codes.notADatabase:
      return unavailable('store_damaged', 'the database file is damaged', error)
    case codes.readonly:
    case codes.ioError:
    case codes.cannotOpen:
      return unavailable('store_unwritable', 'the database file cannot be written', error)
    default:
      return error
  }
}

/** Only one process writes at a time, so a race that is lost at every try is a bug of ours. */
function alwaysLost(cause: LostRace): StoreContendedError {
  const message = `the change could not be made: ${cause.message}, at every try`
  return new StoreContendedError('store_contended', message, {
    hint: 'Try again in a moment. If this goes on, report it as a bug, with the log.',
    cause,
  })
}

function busy(cause: unknown): StoreContendedError {
  return new StoreContendedError('store_busy', 'other processes keep the database file busy', {
    hint: 'Try again in a moment. If this goes on, look for a process that has locked the file.',
    cause,
  })
}

const remedies: Readonly<Record<string, string>> = {
  store_full: 'Free some space on its disk. Waiting work then continues.',
  store_damaged: 'Stop, and restore a backup: docs/operating/running.md.',
  store_unwritable: 'Check owner and mode of the file and of its folder.',
}

function unavailable(code: string, message: string, cause: unknown): StoreUnavailableError {
  const hint = remedies[code]
  return new StoreUnavailableError(code, message, { cause, ...(hint !== undefined && { hint }) })
}
