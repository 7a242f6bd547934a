/**
 * One database in memory under several stores, each as if a process had it over a line of its own:
 * what PostgreSQL is to many servers, for the simulation. Whoever cuts one line cuts nobody else's,
 * and what was committed outlives it.
 */
import type { Store } from '../store.ts'
import type { Driver } from './driver.ts'
import type { StoreSeams } from './open-sqlite.ts'
import { openSqliteDriver } from './open-sqlite.ts'
import type { Param, Row, Sql, Verb } from './sql.ts'
import { inPieces, raw, sql, tuples } from './sql.ts'
import { SqlStore } from './sql-store.ts'

/** The way between one process and the database: it may hold things back, or never answer. */
export interface StoreLine {
  carry<T>(what: 'read' | 'write', go: () => Promise<T>): Promise<T>
}

export interface SharedMemory {
  open(line: StoreLine, seams: StoreSeams): Store
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

export function openSharedMemory(seams: StoreSeams): SharedMemory {
  const driver = openSqliteDriver({ path: ':memory:', exclusive: false }, seams)
  return {
    open: (line, own) => new SqlStore(lined(driver, line), own),
    select: (text, params = []) =>
      driver.read(function* (): Verb<readonly Row[]> {
        return yield { text, params }
      }),
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
