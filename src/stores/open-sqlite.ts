/** Opens a SQLite store: the file (or memory), its schema, the driver. */
import type { Clock } from '../clock.ts'
import type { ChannelDeclaration } from '../domain/outbox/channel-declaration.ts'
import type { PublishingRules } from '../domain/outbox/schedule.ts'
import type { Random } from '../random.ts'
import type { Scheduler } from '../scheduler.ts'
import type { OnRepeat, OnTogether } from './driver.ts'
import { openFile, openMemory } from './drivers/sqlite-file.ts'
import { migrateSqlite } from './drivers/sqlite-schema.ts'
import { SqliteDriver } from './drivers/sqlite.ts'
import { loadMigrations } from './migrations.ts'
import { SqlStore } from './sql-store/sql-store.ts'

/** What a store takes from its machine, and who hears how its transactions go. */
export interface StoreMachine {
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
  machine: Omit<StoreMachine, 'channels'>,
): SqliteDriver {
  const migrations = loadMigrations('sqlite')
  const prepare = (db: Parameters<typeof migrateSqlite>[0]): void => {
    migrateSqlite(db, migrations, machine.clock.wallMs())
  }
  const file =
    options.path === ':memory:'
      ? openMemory(prepare)
      : openFile(options.path, options.exclusive, prepare, machine.random)
  const { writer, reader, release } = file
  return new SqliteDriver({ ...machine, writer, reader, onClose: release })
}

export function openSqlite(options: SqliteOptions, machine: StoreMachine): SqlStore {
  return new SqlStore(openSqliteDriver(options, machine), machine)
}
