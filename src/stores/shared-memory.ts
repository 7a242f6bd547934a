/**
 * One database in memory that several stores use, each over its own connection, as servers share a
 * PostgreSQL. For the simulation. Cutting one connection does not cut the others, and what was
 * committed stays.
 */
import type { Store } from '../store.ts'
import type { Driver } from './driver.ts'
import type { StoreMachine } from './open-sqlite.ts'
import { openSqliteDriver } from './open-sqlite.ts'
import type { Param, Row, Verb } from './sql.ts'
import { inPieces, raw, Sql, sql, tuples } from './sql.ts'
import { SqlStore } from './sql-store/sql-store.ts'

/** The connection between one process and the database. It may delay a request, or never answer. */
export interface StoreConnection {
  carry<T>(what: 'read' | 'write', go: () => Promise<T>): Promise<T>
}

export interface SharedMemory {
  open(connection: StoreConnection, machine: Omit<StoreMachine, 'channels'>): Store
  /** Reads what is committed, without any of the connections. */
  select(text: string, params?: Sql['params']): Promise<readonly Row[]>
  /** Removes all rows. Making a new database would cost more than simulating an hour. */
  empty(): Promise<void>
  /** Copies everything that is committed now. */
  copy(): Promise<MemoryCopy>
  /** Restores a copy. Everything that was stored later is lost. */
  putBack(copy: MemoryCopy): Promise<void>
  close(): Promise<void>
}

/** The rows of every table. */
export type MemoryCopy = ReadonlyMap<string, readonly Row[]>

export function openSharedMemory(machine: StoreMachine): SharedMemory {
  const { channels } = machine
  const driver = withReadCache(openSqliteDriver({ path: ':memory:', exclusive: false }, machine))
  return {
    open: (connection, own) =>
      new SqlStore(overConnection(driver, connection), { ...own, channels }),
    select: (text, params = []) => driver.select(new Sql(text, params)),
    empty: () => driver.transact(deleteAll),
    copy: () => driver.read(readAll),
    putBack: (copy) =>
      driver.transact(function* (): Verb<void> {
        yield* deleteAll()
        for (const [table, rows] of copy) yield* insertRows(table, rows)
      }),
    close: () => driver.close(),
  }
}

/** Temporary tables come last, because deleting from the others may add rows to them. */
function* tablesOf(): Verb<string[]> {
  const lasting = yield raw(`SELECT name FROM sqlite_schema
    WHERE type = 'table' AND name NOT IN ('migration', 'sqlite_stat1')`)
  const temporary = yield raw(`SELECT name FROM sqlite_temp_schema WHERE type = 'table'`)
  return [...lasting, ...temporary].map(({ name }) => String(name))
}

function* deleteAll(): Verb<void> {
  for (const table of yield* tablesOf()) yield raw(`DELETE FROM ${table}`)
}

function* readAll(): Verb<MemoryCopy> {
  const copy = new Map<string, readonly Row[]>()
  for (const table of yield* tablesOf()) copy.set(table, yield raw(`SELECT * FROM ${table}`))
  return copy
}

function* insertRows(table: string, rows: readonly Row[]): Verb<void> {
  const columns = Object.keys(rows[0] ?? {})
  for (const piece of inPieces(rows)) {
    const values = piece.map((row) => columns.map((column) => row[column] as Param))
    yield sql`INSERT INTO ${raw(table)} (${raw(columns.join())}) VALUES ${tuples(values)}`
  }
}

interface CachingDriver extends Driver {
  select(statement: Sql): Promise<readonly Row[]>
}

/**
 * Background loops repeat the same reads while nothing changes. A verb that is a fixed function
 * without parameters depends only on what is committed, so its answer is kept until somebody
 * writes. Other verbs are new functions each time and are never found in the cache.
 */
function withReadCache(driver: Driver): CachingDriver {
  let answers = new WeakMap<() => Verb<unknown>, Promise<unknown>>()
  const forget = (): void => void (answers = new WeakMap())
  const read = <T>(makeVerb: () => Verb<T>): Promise<T> => {
    const known = answers.get(makeVerb) ?? driver.read(makeVerb)
    answers.set(makeVerb, known)
    return known as Promise<T>
  }
  return {
    ...otherMethods(driver),
    read,
    transact: (makeVerb, patienceMs) =>
      driver.transact(() => {
        forget()
        return makeVerb()
      }, patienceMs),
    select: (statement) => {
      // Tests also change tables with this method.
      if (!statement.text.startsWith('SELECT')) forget()
      return driver.read(function* (): Verb<readonly Row[]> {
        return yield statement
      })
    },
  }
}

function otherMethods(driver: Driver): Omit<Driver, 'read' | 'transact'> {
  return {
    dialect: driver.dialect,
    now: () => driver.now(),
    ping: () => driver.ping(),
    close: () => driver.close(),
  }
}

function overConnection(driver: Driver, connection: StoreConnection): Driver {
  return {
    dialect: driver.dialect,
    now: () => driver.now(),
    transact: (makeVerb, patienceMs) =>
      connection.carry('write', () => driver.transact(makeVerb, patienceMs)),
    read: (makeVerb) => connection.carry('read', () => driver.read(makeVerb)),
    ping: () => connection.carry('read', () => driver.ping()),
    // All stores share the database, so closing one store does not close it.
    close: () => Promise.resolve(),
  }
}
