/** Opens a SQLite store: the file (or memory), its schema, the driver. */
import type { Clock } from '../clock.ts'
import type { ChannelDeclaration } from '../domain/outbox/channel-declaration.ts'
import type { PublishingRules } from '../domain/outbox/schedule.ts'
import type { Random } from '../random.ts'
import type { Scheduler } from '../scheduler.ts'
import type { OnRepeat, OnBatch } from './driver.ts'
import { openFile, openMemory } from './drivers/sqlite-file.ts'
import { migrateSqlite, refuseMovedFile } from './drivers/sqlite-schema.ts'
import { SqliteDriver } from './drivers/sqlite.ts'
import { loadMigrations, type MigrateWhen } from './migrations.ts'
import { SqlStore } from './sql-store/sql-store.ts'

/** What a store needs from the machine, and who is told about its transactions. */
export interface StoreMachine {
  readonly clock: Clock
  readonly random: Random
  readonly scheduler: Scheduler
  readonly onBatch?: OnBatch
  readonly onRepeat?: OnRepeat
  readonly publishing?: PublishingRules | undefined
  readonly channels: readonly ChannelDeclaration[]
}

export interface SqliteOptions {
  /** A path, or `:memory:`. */
  readonly path: string
  /**
   * True for a server or worker, which must be the only one on the file. The command line shares
   * it.
   */
  readonly exclusive: boolean
  /** Default: always. */
  readonly migrate?: MigrateWhen
}

export function openSqliteDriver(
  options: SqliteOptions,
  machine: Omit<StoreMachine, 'channels'>,
): SqliteDriver {
  const migrations = loadMigrations('sqlite')
  const prepare = (db: Parameters<typeof migrateSqlite>[0]): void => {
    migrateSqlite(db, migrations, machine.clock.wallMs(), options.migrate)
  }
  const file =
    options.path === ':memory:'
      ? openMemory(prepare)
      : openFile(options.path, options.exclusive, prepare, machine.random)
  const { writer, reader, release } = file
  // Another process may move the store while this one has it open.
  const refuseWrites = reader === null ? undefined : refuseMovedFile(writer)
  return new SqliteDriver({ ...machine, writer, reader, refuseWrites, onClose: release })
}

export function openSqlite(options: SqliteOptions, machine: StoreMachine): SqlStore {
  return new SqlStore(openSqliteDriver(options, machine), machine)
}
