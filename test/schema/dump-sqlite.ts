/**
 * The schema that the SQLite migrations lead to, as text. SQLite stores every statement as it was
 * written, so the dump is those statements, sorted by name.
 */
import { DatabaseSync } from 'node:sqlite'
import { migrateSqlite } from '../../src/stores/drivers/sqlite-schema.ts'
import { loadMigrations } from '../../src/stores/migrations.ts'

export function migratedMemory(): DatabaseSync {
  const db = new DatabaseSync(':memory:')
  migrateSqlite(db, loadMigrations('sqlite'), 0)
  return db
}

export function dumpSqlite(): string {
  const db = migratedMemory()
  try {
    const rows = db
      .prepare(
        `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND substr(name, 1, 7) <> 'sqlite_'
         ORDER BY tbl_name, type DESC, name`,
      )
      .all() as { sql: string }[]
    return rows.map(({ sql }) => `${sql};\n`).join('\n')
  } finally {
    db.close()
  }
}
