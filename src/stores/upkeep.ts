/** Work on a database without a store: inspecting it and copying it. */
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
  /** Also check for damage, unless the file is too large. This blocks the thread. */
  readonly readThrough: boolean
}

/** Changes and creates nothing. Rejects with the same errors as opening it. */
export async function inspectDatabase(
  database: DatabasePlace,
  { clock, readThrough }: LookOptions,
): Promise<DatabaseInspection> {
  const migrations = loadMigrations(database.kind)
  if (database.kind === 'sqlite') return inspectSqlite(database.path, migrations, readThrough)
  const { inspectPostgres: lookAtPostgres } = await import('./drivers/postgres-schema.ts')
  return await lookAtPostgres(database.url, migrations, clock)
}

/** Only for a SQLite file. PostgreSQL has its own tools. */
export async function backupDatabase(path: string, options: BackupOptions): Promise<BackupAnswer> {
  return await backupSqlite(path, options)
}
