/** Opens a SQLite store: the file (or memory), its schema, the driver. */
import type { Clock } from '../clock.ts'
import type { ChannelDeclaration } from '../domain/outbox/channel-declaration.ts'
import type { PublishingRules } from '../domain/outbox/schedule.ts'
import type { Random } from '../random.ts'
import type { Scheduler } from '../scheduler.ts'
import type { OnRepeat, OnTogether } from './driver.ts'
import { openFile, openMemory } from './drivers/sqlite-file.ts'
import { migrateSqlite } from './drivers/sqlite-migrate.ts'
import { SqliteDriver } from './drivers/sqlite.ts'
import { loadMigrations } from './migrations.ts'
import { SqlStore } from './sql-store/sql-store.ts'

export interface StoreSeams {
  readonly clock: Clock
  readonly random: Random
  readonly scheduler: Scheduler
  readonly onTogether?: OnTogether
  readonly onRepeat?: OnRepeat
  readonly publishing?: PublishingRules | undefined
  readonly channels: readonly ChannelDeclaration[]
}

export interface SqliteOptions {
  /** A path, or `:memory:`. */
  readonly path: string
  /** A server or worker holds the file alone; the command line does not. */
  readonly exclusive: boolean
}

export function openSqliteDriver(
  options: SqliteOptions,
  seams: Omit<StoreSeams, 'channels'>,
): SqliteDriver {
  const migrations = loadMigrations('sqlite')
  const prepare = (db: Parameters<typeof migrateSqlite>[0]): void => {
    migrateSqlite(db, migrations, seams.clock.wallMs())
  }
  const file =
    options.path === ':memory:'
      ? openMemory(prepare)
      : openFile(options.path, options.exclusive, prepare, seams.random)
  const { writer, reader, release } = file
  return new SqliteDriver({ ...seams, writer, reader, onClose: release })
}

export function openSqlite(options: SqliteOptions, seams: StoreSeams): SqlStore {
  return new SqlStore(openSqliteDriver(options, seams), seams)
}
