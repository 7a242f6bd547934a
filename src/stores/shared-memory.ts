/**
 * One database in memory under several stores, each as if a process had it over a line of its own:
 * what PostgreSQL is to many servers, for the simulation. Whoever cuts one line cuts nobody else's,
 * and what was committed outlives it.
 */
import type { Store } from '../store.ts'
import type { Driver } from './driver.ts'
import type { StoreSeams } from './open-sqlite.ts'
import { openSqliteDriver } from './open-sqlite.ts'
import type { Row, Sql, Verb } from './sql.ts'
import { raw } from './sql.ts'
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
  close(): Promise<void>
}

export function openSharedMemory(seams: StoreSeams): SharedMemory {
  const driver = openSqliteDriver({ path: ':memory:', exclusive: false }, seams)
  return {
    open: (line, own) => new SqlStore(lined(driver, line), own),
    select: (text, params = []) =>
      driver.read(function* (): Verb<readonly Row[]> {
        return yield { text, params }
      }),
    empty: () =>
      driver.transact(function* (): Verb<void> {
        const tables = yield raw(`SELECT name FROM sqlite_schema
          WHERE type = 'table' AND name NOT IN ('migration', 'sqlite_stat1')`)
        for (const { name } of tables) yield raw(`DELETE FROM ${String(name)}`)
      }),
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
