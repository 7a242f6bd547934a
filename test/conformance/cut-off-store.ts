/** A store on either database. A test can cut off its transaction at a given statement. */
import type { Driver } from '../../src/stores/driver.ts'
import { openPostgresDriver } from '../../src/stores/open-postgres.ts'
import { openSqliteDriver } from '../../src/stores/open-sqlite.ts'
import { SqlStore } from '../../src/stores/sql-store/sql-store.ts'
import { withCut } from '../chaos/faulty-driver.ts'
import { migratedDatabase } from '../postgres/fresh-database.ts'
import { machineWith, TestClock, useFreshWorld, type World } from './world.ts'

interface OpenedDriver {
  readonly driver: Driver
  readonly close: () => Promise<void>
}

export type OpenDriver = (clock: TestClock) => Promise<OpenedDriver>

const onSqlite: OpenDriver = async (clock) => {
  const driver = openSqliteDriver({ path: ':memory:', exclusive: true }, machineWith(clock))
  return { driver, close: () => driver.close() }
}

const onPostgres: OpenDriver = async (clock) => {
  const database = await migratedDatabase()
  const driver = await openPostgresDriver(database.url, machineWith(clock))
  return {
    driver,
    close: async () => {
      await driver.close()
      await database.drop()
    },
  }
}

export const eitherDatabase = [
  ['SQLite', onSqlite],
  ['PostgreSQL', onPostgres],
] as const

export interface CutOffWorld {
  readonly world: World
  /** How many statements succeed before one is cut off; below zero, none is cut off. */
  readonly cut: { left: number }
  /** Cuts a verb off after this many statements. Returns false if the verb ended before that. */
  readonly isCutOffAfter: (statements: number, verb: () => Promise<unknown>) => Promise<boolean>
}

/** A new store for each test. `watch` sees every statement before it may be cut off. */
export function useCutOffStore(
  open: OpenDriver,
  watch: (driver: Driver) => Driver = (driver) => driver,
): CutOffWorld {
  const cut = { left: -1 }
  const world = useFreshWorld(async () => {
    cut.left = -1
    const clock = new TestClock()
    const { driver, close } = await open(clock)
    const store = new SqlStore(withCut(watch(driver), cut), machineWith(clock))
    return { store, clock, close }
  })
  return {
    world,
    cut,
    isCutOffAfter: async (statements, verb) => {
      cut.left = statements
      const isCutOff = await verb().then(
        () => false,
        () => true,
      )
      cut.left = -1
      return isCutOff
    },
  }
}
