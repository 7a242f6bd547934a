/** Brings a SQLite database to the newest schema. */
import type { DatabaseSync } from 'node:sqlite'
import type { Migration } from '../migrations.ts'
import { missingMigrations } from '../migrations.ts'

/** Long enough for another process's migration to end. */
const patienceMs = 30_000

export function migrateSqlite(
  db: DatabaseSync,
  migrations: readonly Migration[],
  nowMs: number,
): void {
  const { timeout } = db.prepare('PRAGMA busy_timeout').get() as { timeout: number }
  db.exec(`PRAGMA busy_timeout = ${patienceMs}`)
  db.exec('BEGIN IMMEDIATE')
  try {
    db.exec(`CREATE TABLE IF NOT EXISTS migration (
      version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT`)
    const applied = db.prepare('SELECT version FROM migration').all() as { version: number }[]
    const missing = missingMigrations(
      migrations,
      applied.map(({ version }) => version),
    )
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
