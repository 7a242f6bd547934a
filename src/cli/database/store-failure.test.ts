import { describe, expect, test } from 'vitest'
import { SetupError, StoreUnavailableError } from '../../errors.ts'
import type { Database } from '../../settings/options/value-kind.ts'
import { failureText } from '../failure.ts'
import { storeFailure } from './store-failure.ts'

const postgres = (url: string): { database: Database } => ({ database: { kind: 'postgres', url } })
const away = (cause: unknown) =>
  new StoreUnavailableError('store_unreachable', 'the database cannot be reached', { cause })
const coded = (code: string, message = code) => Object.assign(new Error(message), { code })
const failureFor = (url: string, cause: unknown, env = {}): string =>
  failureText(storeFailure(away(cause), postgres(url), env))

describe('a PostgreSQL that cannot be used', () => {
  const url = 'postgres://me:hunter2@db.test:6543/ledger'

  test.each([
    ['ECONNREFUSED', 'No server listens at db.test:6543', 'Is PostgreSQL running there?'],
    ['ENOTFOUND', 'No machine named db.test was found', 'Is the name right'],
    ['ETIMEDOUT', 'db.test:6543 does not answer', 'firewall'],
    ['3D000', 'PostgreSQL at db.test:6543 has no database "ledger"', 'createdb ledger. '],
    ['28P01', 'PostgreSQL at db.test:6543 rejected the password of "me"', 'Correct the user'],
    ['28000', 'PostgreSQL at db.test:6543 does not allow "me" to connect', 'pg_hba.conf'],
    ['42501', 'does not allow "me" to create tables', 'GRANT CREATE ON DATABASE "ledger" TO "me"'],
    ['53300', 'has no connection left', 'max_connections'],
    ['57P03', 'is starting or stopping', 'Try again'],
    ['XX000', 'Could not use PostgreSQL at db.test:6543: odd', 'Is PostgreSQL running there?'],
  ])('with %s leads to an error with place, cause and remedy', (code, what, remedy) => {
    const text = failureFor(url, coded(code, 'odd'))
    expect(text).toContain(`holdfast: `)
    expect(text).toContain(what)
    expect(text).toContain(`(${code}); the database is "ledger"`)
    expect(text).toContain(remedy)
    expect(text).toContain('HOLDFAST_DATABASE_URL')
    expect(text).not.toContain('hunter2')
  })

  test('because no password is set is not called unreachable', () => {
    const driverMessage = 'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'
    const text = failureFor('postgres://hf@db.test/ledger', new Error(driverMessage))
    expect(text).toContain('PostgreSQL at db.test:5432 needs a password for "hf", but none is set')
    expect(text).toMatch(
      /Put it into HOLDFAST_DATABASE_URL .* or into a file, .* HOLDFAST_DATABASE_URL_FILE/,
    )
    expect(text).not.toMatch(/running there|SASL/)
  })

  test('leads to an error that never repeats a password, wherever it is', () => {
    const cause = new Error('no pg_hba.conf entry, tried hunter2')
    expect(failureFor(url, cause)).toContain('tried ***')
    expect(failureFor('postgres://db/x?password=hunter2', cause)).not.toContain('hunter2')
    expect(failureFor('postgres://db/x', cause, { PGPASSWORD: 'hunter2' })).not.toContain('hunter2')
  })

  test('is named as the driver finds it', () => {
    const refused = coded('ECONNREFUSED')
    const env = { PGHOST: 'pg.test', PGPORT: '7', PGDATABASE: 'books', USER: 'mona' }
    expect(failureFor('postgres://', refused, env)).toContain('at pg.test:7')
    expect(failureFor('postgres://', refused, env)).toContain('the database is "books"')
    expect(failureFor('postgres://', refused, { USER: 'mona' })).toContain('the database is "mona"')
    const socket = failureFor('postgres:///x?host=/var/run/postgresql', coded('ENOENT'))
    expect(socket).toContain('There is no socket in /var/run/postgresql (ENOENT)')
  })

  test('keeps the type of its error', () => {
    const failure = storeFailure(away(coded('ECONNREFUSED')), postgres(url), {})
    expect(failure).toBeInstanceOf(StoreUnavailableError)
    const setup = new SetupError('store_too_old', 'this PostgreSQL is version 14')
    expect(storeFailure(setup, postgres(url), {})).toBe(setup)
  })
})

describe('a SQLite file that cannot be used', () => {
  const sqlite: { database: Database } = { database: { kind: 'sqlite', path: '/x/holdfast.db' } }

  test('leads to an error with its path and the remedy', () => {
    const text = failureText(storeFailure(coded('ENOSPC', 'disk full'), sqlite, {}))
    expect(text).toContain('Could not open the database /x/holdfast.db: disk full')
    expect(text).toContain('HOLDFAST_DATABASE_URL')
  })

  test('because it belongs to another user says what to do', () => {
    const text = failureText(storeFailure(coded('EACCES', 'permission denied'), sqlite, {}))
    expect(text).toContain('This user may not read the database /x/holdfast.db')
    expect(text).toContain('Run the command as the user that runs Holdfast')
  })

  test('leads to an unchanged error if that already explains the reason', () => {
    const setup = new SetupError('store_damaged', 'damaged')
    expect(storeFailure(setup, sqlite, {})).toBe(setup)
    const fault = new Error('a fault of ours')
    expect(storeFailure(fault, sqlite, {})).toBe(fault)
  })
})
