/** A PostgreSQL database with history in it. */
import { githubDeclarations } from '../src/channels/github-channels.ts'
import pg from 'pg'
import { systemClock } from '../src/clock.ts'
import { openPostgres, sessionOptions } from '../src/stores/open-postgres.ts'
import { createDatabase } from '../test/postgres/create-database.ts'
import { machine } from './recording.ts'
import { fillStore, type FillDialect } from './stored-runs.ts'

/** Returns the address of the database. */
export async function makePostgresHistory(clusterUrl: string, count: number): Promise<string> {
  const { url } = await createDatabase(clusterUrl)
  const store = await openPostgres(url, { ...machine, channels: githubDeclarations })
  await store.close()
  // A million rows in one statement take longer than any statement of a server may.
  const options = `${sessionOptions} -c statement_timeout=0`
  const client = new pg.Client({ connectionString: url, options })
  await client.connect()
  try {
    await client.query('SET synchronous_commit = off')
    await fillStore(dialectOf(client), count, systemClock.wallMs())
    await client.query(`SELECT setval(pg_get_serial_sequence('audit', 'id'), max(id)) FROM audit`)
    await client.query('VACUUM (ANALYZE)')
    await client.query('CHECKPOINT')
  } finally {
    await client.end()
  }
  return url
}

function dialectOf(client: pg.Client): FillDialect {
  return {
    sha: `substr(encode(sha256(CAST(CAST(i AS TEXT) AS BYTEA)), 'hex'), 1, 40)`,
    numbers: (count) => `SELECT i FROM generate_series(CAST(0 AS BIGINT), ${count - 1}) AS i`,
    run: async (statement) => {
      await client.query(statement)
    },
  }
}
