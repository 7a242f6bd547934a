/** Inspects a PostgreSQL database without changing it. */
import { Client } from 'pg'
import type { Clock } from '../../clock.ts'
import type { DatabaseInspection } from '../../domain/database-inspection.ts'
import type { Migration } from '../migrations.ts'
import { inspectSchema } from '../migrations.ts'
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
    const applied = facts.migrated
      ? await client.query<{ version: string }>('SELECT version FROM holdfast.migration')
      : { rows: [] }
    return {
      engine: `PostgreSQL ${facts.version.split(' ')[0] ?? ''}`,
      schema: inspectSchema(
        migrations,
        applied.rows.map(({ version }) => Number(version)),
      ),
      // The answer was made about half-way between asking and hearing.
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
