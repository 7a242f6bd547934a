/**
 * One database in memory under several stores, each as if a process had it over a line of its own:
 * what PostgreSQL is to many servers, for the simulation. Whoever cuts one line cuts nobody else's,
 * and what was committed outlives it.
 */
import type { Store } from '../store.ts'
import type { Driver } from './driver.ts'
import type { StoreMachine } from './open-sqlite.ts'
import { openSqliteDriver } from './open-sqlite.ts'
import type { Param, Row, Sql, Verb } from './sql.ts'
import { inPieces, raw, sql, tuples } from './sql.ts'
import { SqlStore } from './sql-store/sql-store.ts'

/** The way between one process and the database: it may hold things back, or never answer. */
export interface StoreLine {
  carry<T>(what: 'read' | 'write', go: () => Promise<T>): Promise<T>
}

export interface SharedMemory {
  open(line: StoreLine, machine: Omit<StoreMachine, 'channels'>): Store
  /** What is committed, read past every line. */
  select(text: string, params?: Sql['params']): Promise<readonly Row[]>
  /** As new: making another costs more than all that a simulated hour does with it. */
  empty(): Promise<void>
  /** All that is committed, as it is now. */
  copy(): Promise<MemoryCopy>
  /** As it was when that copy was made; whatever came later is forgotten. */
  putBack(copy: MemoryCopy): Promise<void>
  close(): Promise<void>
}

/** The rows of every table. */
export type MemoryCopy = ReadonlyMap<string, readonly Row[]>

export function openSharedMemory(machine: StoreMachine): SharedMemory {
  const { channels } = machine
  const driver = remembering(openSqliteDriver({ path: ':memory:', exclusive: false }, machine))
  return {
    open: (line, own) => new SqlStore(lined(driver, line), { ...own, channels }),
    select: (text, params = []) => driver.select({ text, params }),
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

/** Temporary ones come last: what is deleted from the others may be noted in them. */
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

interface Remembering extends Driver {
  select(statement: Sql): Promise<readonly Row[]>
}

/**
 * Background loops ask the same again and again while nothing happens. A verb that is one function
 * and takes nothing depends on nothing but what is committed: until somebody writes, it answers as
 * it did before. Others are new functions each time, and are never found here.
 */
function remembering(driver: Driver): Remembering {
  let answers = new WeakMap<() => Verb<unknown>, Promise<unknown>>()
  const forget = (): void => void (answers = new WeakMap())
  const read = <T>(makeVerb: () => Verb<T>): Promise<T> => {
    const known = answers.get(makeVerb) ?? driver.read(makeVerb)
    answers.set(makeVerb, known)
    return known as Promise<T>
  }
  return {
    ...passedOn(driver),
    read,
    transact: (makeVerb, patienceMs) =>
      driver.transact(() => {
        forget()
        return makeVerb()
      }, patienceMs),
    select: (statement) => {
      // Whoever tampers with the tables writes like this, too.
      if (!statement.text.startsWith('SELECT')) forget()
      return driver.read(function* (): Verb<readonly Row[]> {
        return yield statement
      })
    },
  }
}

function passedOn(driver: Driver): Omit<Driver, 'read' | 'transact'> {
  return {
    dialect: driver.dialect,
    now: () => driver.now(),
    ping: () => driver.ping(),
    close: () => driver.close(),
  }
}

function lined(driver: Driver, line: StoreLine): Driver {
  return {
    dialect: driver.dialect,
    now: () => driver.now(),
    transact: (makeVerb, patienceMs) =>
      line.carry('write', () => driver.transact(makeVerb, patienceMs)),
    read: (makeVerb) => line.carry('read', () => driver.read(makeVerb)),
    ping: () => line.carry('read', () => driver.ping()),
    // The database is everybody's: only its own end closes it.
    close: () => Promise.resolve(),
  }
}
