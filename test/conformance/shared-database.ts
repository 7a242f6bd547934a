/** One database that several stores open at the same time; on SQLite it is one file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '../../src/store.ts'
import { openPostgres } from '../../src/stores/open-postgres.ts'
import { openSqlite } from '../../src/stores/open-sqlite.ts'
import { migratedDatabase } from '../postgres/fresh-database.ts'
import { machineWith, type TestClock } from './world.ts'

export interface SharedDatabase {
  /** `serves`: opens it as a server. A SQLite file accepts one server at a time. */
  open(clock: TestClock, serves?: boolean): Promise<Store>
  remove(): Promise<void>
}

/** For `describe.each`: the name of each database, and what creates one. */
export const sharedDatabases = [
  ['SQLite', onSqlite],
  ['PostgreSQL', onPostgres],
] as const

async function onSqlite(): Promise<SharedDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-shared-'))
  const path = join(folder, 'store.db')
  return {
    open: async (clock, serves = false) =>
      openSqlite({ path, exclusive: serves }, machineWith(clock)),
    remove: async () => rmSync(folder, { recursive: true }),
  }
}

async function onPostgres(): Promise<SharedDatabase> {
  const database = await migratedDatabase()
  return {
    open: (clock) => clock.whileOpening(() => openPostgres(database.url, machineWith(clock))),
    remove: () => database.drop(),
  }
}
