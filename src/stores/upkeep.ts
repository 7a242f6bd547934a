/** What is done to a database from the outside: looking at it, and copying it. */
import type { Clock } from '../clock.ts'
import type { DatabaseInspection } from '../domain/database-inspection.ts'
import type { BackupAnswer, BackupOptions } from './drivers/sqlite-backup.ts'
import { backupSqlite } from './drivers/sqlite-backup.ts'
import { inspectSqlite } from './drivers/sqlite-schema.ts'
import { loadMigrations } from './migrations.ts'

export type DatabasePlace =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string }

export interface LookOptions {
  readonly clock: Clock
  /** Also look for damage, in a file that is not too large for it; holds the thread up. */
  readonly readThrough: boolean
}

/** Changes nothing and makes nothing; rejects with what opening it would reject with. */
export async function inspectDatabase(
  database: DatabasePlace,
  { clock, readThrough }: LookOptions,
): Promise<DatabaseInspection> {
  const migrations = loadMigrations(database.kind)
  if (database.kind === 'sqlite') return inspectSqlite(database.path, migrations, readThrough)
  const { inspectPostgres: lookAtPostgres } = await import('./drivers/postgres-schema.ts')
  return await lookAtPostgres(database.url, migrations, clock)
}

/** Of a SQLite file; PostgreSQL has tools of its own for it. */
export async function backupDatabase(path: string, options: BackupOptions): Promise<BackupAnswer> {
  return await backupSqlite(path, options)
}
