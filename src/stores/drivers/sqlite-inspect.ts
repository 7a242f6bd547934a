/**
 * Inspects a SQLite file without changing it. Refuses what opening it would refuse. Checking the
 * whole file for damage blocks the thread, so a running server leaves that out.
 */
import { existsSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import type { DatabaseInspection } from '../../domain/database-inspection.ts'
import type { Migration } from '../migrations.ts'
import { inspectSchema } from '../migrations.ts'
import { checkedBytesMax, refuseDamage, refuseForeign } from './sqlite-file.ts'

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
  if (!existsSync(path)) return { ...nothing, schema: inspectSchema(migrations, []) }
  refuseForeign(path)
  if (readThrough) refuseDamage(path)
  const db = new DatabaseSync(path, { readOnly: true, timeout: 1000 })
  try {
    const { journal_mode: journal } = db.prepare('PRAGMA journal_mode').get() as {
      journal_mode: string
    }
    const applied = db.prepare('SELECT version FROM migration').all() as { version: number }[]
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
