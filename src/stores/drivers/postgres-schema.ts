/** The schema of a PostgreSQL database: inspected, or brought to the newest version. */
import { Client, type ClientBase, type Pool } from 'pg'
import type { Clock } from '../../clock.ts'
import type { DatabaseInspection } from '../../domain/database-inspection.ts'
import {
  type MigrateWhen,
  type Migration,
  inspectSchema,
  missingMigrations,
  refuseWhileServed,
} from '../migrations.ts'
import { incompleteError } from '../move/marks.ts'
import { refuseForeign, selectForeign } from './foreign-tables.ts'
import { connectFailure } from './postgres-errors.ts'

const connectMsMax = 10_000
const answerMsMax = 20_000

interface Facts {
  readonly version: string
  readonly fsync: string
  readonly commit: string
  readonly now: number
  readonly migrated: boolean
}

export async function inspectPostgres(
  url: string,
  migrations: readonly Migration[],
  clock: Clock,
): Promise<DatabaseInspection> {
  const client = new Client({
    connectionString: url,
    application_name: 'holdfast',
    connectionTimeoutMillis: connectMsMax,
    query_timeout: answerMsMax,
  })
  // The query reports a broken connection; without a listener the error would be uncaught.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('SELECT 1')
    const before = clock.wallMs()
    const { rows } = await client.query<Facts>(`SELECT current_setting('server_version') AS version,
      current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit,
      (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now,
      to_regclass('holdfast.migration') IS NOT NULL AS migrated`)
    const after = clock.wallMs()
    const facts = rows[0]
    if (facts === undefined) throw new Error('PostgreSQL answered without a row')
    await refuseForeignTables(client)
    const applied = facts.migrated
      ? await client.query<{ version: string }>('SELECT version FROM holdfast.migration')
      : { rows: [] }
    await refuseIncomplete(client)
    return {
      engine: `PostgreSQL ${facts.version.split(' ')[0] ?? ''}`,
      schema: inspectSchema(
        migrations,
        applied.rows.map(({ version }) => Number(version)),
      ),
      // The server read its clock about half-way between the question and the answer.
      clockAheadMs: Math.round(facts.now - (before + after) / 2),
      doubts: [
        ...(facts.fsync === 'on' ? [] : ['its fsync is off']),
        ...(facts.commit === 'off' ? ['its synchronous_commit is off'] : []),
      ],
      readThrough: null,
    }
  } catch (error) {
    throw error instanceof Error && 'hint' in error ? error : connectFailure(error, false)
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** The advisory lock for migrating. Any constant would do. */
const lockId = 4_851_976_001

/** Brings a PostgreSQL database to the newest version. All tables are in the schema `holdfast`. */
export async function migratePostgres(
  pool: Pool,
  migrations: readonly Migration[],
  nowMs: number,
  when: MigrateWhen = 'always',
): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('BEGIN')
    // Wait without a limit, because the migration of another process may take long.
    await client.query('SET LOCAL lock_timeout = 0')
    await client.query('SELECT pg_advisory_xact_lock($1)', [lockId])
    await refuseForeignTables(client)
    await client.query('CREATE SCHEMA IF NOT EXISTS holdfast')
    await client.query(`CREATE TABLE IF NOT EXISTS migration (
      version BIGINT PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)`)
    const { rows } = await client.query<{ version: number }>('SELECT version FROM migration')
    const applied = rows.map(({ version }) => version)
    await refuseIncomplete(client)
    const missing = missingMigrations(migrations, applied)
    if (when === 'no_server_active' && applied.length > 0 && missing.length > 0) {
      refuseWhileServed(await readAliveAt(client), nowMs)
    }
    for (const { version, name, text } of missing) {
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

async function refuseForeignTables(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ name: string }>(selectForeign)
  refuseForeign(rows.map(({ name }) => name))
}

/** A store into which a move has not finished must not be opened. */
async function refuseIncomplete(client: ClientBase): Promise<void> {
  const { rows: known } = await client.query<{ known: boolean }>(
    "SELECT to_regclass('holdfast.store_state') IS NOT NULL AS known",
  )
  if (known[0]?.known !== true) return
  const { rows } = await client.query("SELECT 1 FROM holdfast.store_state WHERE key = 'move'")
  if (rows.length > 0) throw incompleteError()
}

async function readAliveAt(client: ClientBase): Promise<number | null> {
  const { rows } = await client.query<{ value: string }>(
    "SELECT value FROM store_state WHERE key = 'alive_at'",
  )
  return rows[0] === undefined ? null : Number(rows[0].value)
}
