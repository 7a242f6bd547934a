/** A SQLite file with history in it. */
import { closeSync, fsyncSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../src/clock.ts'
import { openSqliteDriver } from '../src/stores/open-sqlite.ts'
import { machine } from './recording.ts'
import { fillStore, type FillDialect } from './stored-runs.ts'

export async function makeSqliteHistory(path: string, count: number): Promise<void> {
  await openSqliteDriver({ path, exclusive: false }, machine).close()
  const db = new DatabaseSync(path)
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -1048576')
  await fillStore(dialectOf(db), count, systemClock.wallMs())
  db.close()
  // Otherwise the first checkpoint would have to wait until the whole file is on the disk.
  const file = openSync(path, 'r+')
  fsyncSync(file)
  closeSync(file)
}

function dialectOf(db: DatabaseSync): FillDialect {
  return {
    sha: `lower(hex(randomblob(20)))`,
    numbers: (count) => `WITH RECURSIVE n (i) AS
      (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${count - 1}) SELECT i FROM n`,
    run: async (statement) => db.exec(statement),
  }
}
