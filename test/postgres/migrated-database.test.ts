/**
 * Goal: a test gets a database as if it were new, whatever the test before left in it.
 * Method: rows, a foreign key, a used sequence number and a connection that is still open.
 */
import { githubDeclarations } from '../../src/channels/github-channels.ts'
import pg from 'pg'
import { expect, it } from 'vitest'
import { systemMachine } from '../../src/open-store.ts'
import { openPostgres } from '../../src/stores/open-postgres.ts'
import { jobClaim } from '../conformance/claims.ts'
import { migratedDatabase } from './fresh-database.ts'

const tables = `SELECT table_name AS name, (xpath('/row/n/text()', query_to_xml(
  format('SELECT count(*) AS n FROM holdfast.%I', table_name), true, true, '')))[1]::text AS rows
  FROM information_schema.tables WHERE table_schema = 'holdfast' ORDER BY 1`
const sequences = `SELECT sequencename, last_value FROM pg_sequences
  WHERE schemaname = 'holdfast' ORDER BY 1`

async function look(url: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const rows = (await client.query(tables)).rows as unknown
  const drawn = (await client.query(sequences)).rows as unknown
  await client.end()
  return { rows, drawn }
}

it('a used database is given to the next test in its first state', async () => {
  const first = await migratedDatabase()
  const before = await look(first.url)
  const store = await openPostgres(first.url, { ...systemMachine, channels: githubDeclarations })
  await store.runs.claim(jobClaim('a-key', 'a-job'), null)
  await store.close()
  expect(await look(first.url)).not.toEqual(before)

  const open = new pg.Client({ connectionString: first.url })
  const ended = new Promise((resolve) => open.on('error', resolve))
  await open.connect()
  await open.query('BEGIN')
  await open.query('LOCK TABLE holdfast.run')
  await first.drop()
  await ended

  const second = await migratedDatabase()
  expect(second.url).toBe(first.url)
  expect(await look(second.url)).toEqual(before)
})
