/**
 * Opens either store from its parts, because a child process that loads the whole program is slow.
 */
import { githubDeclarations } from '../../src/channels/github-channels.ts'
import { systemClock } from '../../src/clock.ts'
import { systemRandom } from '../../src/random.ts'
import { systemScheduler } from '../../src/scheduler.ts'
import type { Driver } from '../../src/stores/driver.ts'
import { openPostgresDriver } from '../../src/stores/open-postgres.ts'
import { openSqliteDriver } from '../../src/stores/open-sqlite.ts'
import { SqlStore } from '../../src/stores/sql-store/sql-store.ts'

export type Database =
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'sqlite'; readonly path: string }

export const machine = { clock: systemClock, random: systemRandom, scheduler: systemScheduler }

export async function openDriver(database: Database, exclusive = false): Promise<Driver> {
  if (database.kind === 'postgres') return await openPostgresDriver(database.url, machine)
  return openSqliteDriver({ path: database.path, exclusive }, machine)
}

export const storeOver = (driver: Driver): SqlStore =>
  new SqlStore(driver, {
    random: systemRandom,
    scheduler: systemScheduler,
    channels: githubDeclarations,
  })

export async function openStore(database: Database, exclusive = false): Promise<SqlStore> {
  return storeOver(await openDriver(database, exclusive))
}
