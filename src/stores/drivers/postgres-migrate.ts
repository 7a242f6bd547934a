/** Brings a PostgreSQL database to the newest schema, in a schema of its own: `holdfast`. */
import type { Pool } from 'pg'
import type { Migration } from '../migrations.ts'
import { missingMigrations } from '../migrations.ts'

/** Any constant: whoever holds this advisory lock migrates. */
const lockId = 4_851_976_001

export async function migratePostgres(
  pool: Pool,
  migrations: readonly Migration[],
  nowMs: number,
): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    // Another process's migration may take longer than any claim would wait.
    await client.query('SET LOCAL lock_timeout = 0')
    await client.query('SELECT pg_advisory_xact_lock($1)', [lockId])
    await client.query('CREATE SCHEMA IF NOT EXISTS holdfast')
    await client.query(`CREATE TABLE IF NOT EXISTS migration (
      version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)`)
    const { rows } = await client.query<{ version: number }>('SELECT version FROM migration')
    const applied = rows.map(({ version }) => version)
    for (const { version, name, text } of missingMigrations(migrations, applied)) {
      await client.query(text)
      await client.query('INSERT INTO migration VALUES ($1, $2, $3)', [version, name, nowMs])
    }
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  } finally {
    client.release()
  }
}
