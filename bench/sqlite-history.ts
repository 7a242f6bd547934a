/** A SQLite file with history in it. */
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../src/clock.ts'
import { openSqliteDriver } from '../src/stores/open-sqlite.ts'
import { seams } from './recording.ts'
import { fillStore, type FillDialect } from './stored-runs.ts'

export async function makeSqliteHistory(path: string, count: number): Promise<void> {
  await openSqliteDriver({ path, exclusive: false }, seams).close()
  const db = new DatabaseSync(path)
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; PRAGMA temp_store = FILE')
  await fillStore(dialectOf(db), count, systemClock.wallMs())
  db.close()
}

function dialectOf(db: DatabaseSync): FillDialect {
  return {
    sha: `lower(hex(randomblob(20)))`,
    numbers: (count) => `WITH RECURSIVE n (i) AS
      (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${count - 1}) SELECT i FROM n`,
    run: async (statement) => db.exec(statement),
    indexes: async () =>
      db
        .prepare(`SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL`)
        .all()
        .map((row) => ({ name: String(row['name']), definition: String(row['sql']) })),
  }
}
