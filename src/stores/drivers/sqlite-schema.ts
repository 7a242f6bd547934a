/** The schema of a SQLite file: inspected without a change, or brought to the newest version. */
import { statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { DatabaseInspection } from '../../domain/database-inspection.ts'
import {
  type MigrateWhen,
  type Migration,
  inspectSchema,
  missingMigrations,
  refuseWhileServed,
} from '../migrations.ts'
import { movedError } from '../move/marks.ts'
import { checkedBytesMax, refuseDamage, refuseForeign } from './sqlite-file.ts'

/**
 * Throws for every file that `openFile` refuses. With `readThrough` the whole file is checked for
 * damage. That blocks the thread, so a running server does without.
 */
export function inspectSqlite(
  path: string,
  migrations: readonly Migration[],
  readThrough: boolean,
): DatabaseInspection {
  const engine = `SQLite ${process.versions['sqlite'] ?? ''}`.trimEnd()
  const nothing = { engine, clockAheadMs: null, doubts: [], readThrough: null }
  if (path === ':memory:') {
    const schema = inspectSchema(
      migrations,
      migrations.map(({ version }) => version),
    )
    return { ...nothing, schema, doubts: ['it is kept in memory only'] }
  }
  // It throws if this user may not open the folder. Then nobody knows whether the file exists.
  const isThere = statSync(path, { throwIfNoEntry: false }) !== undefined
  if (!isThere) return { ...nothing, schema: inspectSchema(migrations, []) }
  refuseForeign(path)
  if (readThrough) refuseDamage(path)
  const db = new DatabaseSync(path, { readOnly: true, timeout: 1000 })
  try {
    const { journal_mode: journal } = db.prepare('PRAGMA journal_mode').get() as {
      journal_mode: string
    }
    const applied = db.prepare('SELECT version FROM migration').all() as { version: number }[]
    refuseMoved(db)
    return {
      ...nothing,
      schema: inspectSchema(
        migrations,
        applied.map(({ version }) => version),
      ),
      doubts: journal === 'wal' ? [] : [`its journal_mode is ${journal}, not wal`],
      readThrough: readThrough ? statSync(path).size <= checkedBytesMax : null,
    }
  } finally {
    db.close()
  }
}

/** Another process may be migrating the same file. Its migration ends within this time. */
const migrationMsMax = 30_000

/** Brings a SQLite database to the newest schema. */
export function migrateSqlite(
  db: DatabaseSync,
  migrations: readonly Migration[],
  nowMs: number,
  when: MigrateWhen = 'always',
): void {
  const { timeout } = db.prepare('PRAGMA busy_timeout').get() as { timeout: number }
  db.exec(`PRAGMA busy_timeout = ${migrationMsMax}`)
  db.exec('BEGIN IMMEDIATE')
  try {
    db.exec(`CREATE TABLE IF NOT EXISTS migration (
      version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT`)
    const applied = db.prepare('SELECT version FROM migration').all() as { version: number }[]
    refuseMoved(db)
    const missing = missingMigrations(
      migrations,
      applied.map(({ version }) => version),
    )
    if (when === 'no_server_active' && applied.length > 0 && missing.length > 0) {
      refuseWhileServed(readAliveAt(db), nowMs)
    }
    for (const { version, name, text } of missing) {
      db.exec(text)
      db.prepare('INSERT INTO migration VALUES (?, ?, ?)').run(version, name, nowMs)
    }
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
  db.exec(`PRAGMA busy_timeout = ${timeout}`)
}

function readAliveAt(db: DatabaseSync): number | null {
  const row = db.prepare("SELECT value FROM store_state WHERE key = 'alive_at'").get()
  return row === undefined ? null : Number(row['value'])
}

/** For a database with any schema, also none. */
export function refuseMoved(db: DatabaseSync): void {
  const isNew =
    db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'store_state'").get() === undefined
  if (!isNew) refuseMovedFile(db)()
}

/** Returns a function that throws if the store was moved. The function is cheap. */
export function refuseMovedFile(db: DatabaseSync): () => void {
  const question = db.prepare("SELECT value FROM store_state WHERE key = 'moved_to'")
  return () => {
    const row = question.get()
    if (row !== undefined) throw movedError(String(row['value']))
  }
}
