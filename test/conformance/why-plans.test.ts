/**
 * Goal: what `why` reads costs what it answers, however much else there is.
 * Method: the very statements of its reads are explained on both databases, over many rows of
 * others: each must go along an index.
 */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPostgresDriver, sessionOptions } from '../../src/stores/open-postgres.ts'
import type { Sql } from '../../src/stores/sql.ts'
import { listInbox, runAhead, subjectsOf } from '../../src/stores/verbs/lists.ts'
import { seams } from '../chaos/open-store.ts'
import { freshDatabase, type TestDatabase } from '../postgres/fresh-database.ts'
import { migratedMemory } from '../schema/dump-sqlite.ts'

const page = { limit: 20, cursor: null }
const thread = listInbox({ repo: 'acme/r7', number: 7 }, page)
const statements: Readonly<Record<string, Sql>> = {
  'the names of its repository': thread.next().value as Sql,
  'the webhooks of a thread': thread.next([{ name: 'acme/r7' }]).value as Sql,
  'the run ahead': runAhead('sub_7').next().value as Sql,
  'the subjects of a pull request': subjectsOf('acme/r7', 7).next().value as Sql,
}

const others = 5000
const entry = `'inb_' || i, 'guid-' || i, 'pull_request', 'acme/r' || i % 50, i % 100,
  'l' || i % 500, 'processed', 'ignored', '[]', 0, 0, 0`
const columns = `id, webhook_id, event, repo, number, lane, state, decision, outcomes, received_at,
  processed_at, tries`

describe('SQLite', () => {
  const db = migratedMemory()
  db.exec(`INSERT INTO inbox (${columns})
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${others})
    SELECT ${entry} FROM n`)
  afterAll(() => db.close())

  it.each(Object.entries(statements))('%s', (name, { text, params }) => {
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...params)
    const steps = plan.map(({ detail }) => String(detail))
    expect(steps.filter((step) => step.startsWith('SCAN'))).toEqual([])
    if (name.includes('webhooks')) expect(steps.join()).not.toContain('TEMP B-TREE')
  })
})

describe('PostgreSQL', () => {
  let database: TestDatabase
  let client: pg.Client
  beforeAll(async () => {
    database = await freshDatabase()
    await (await openPostgresDriver(database.url, seams)).close()
    client = new pg.Client({ connectionString: database.url, options: sessionOptions })
    await client.connect()
    await client.query(`INSERT INTO inbox (${columns})
      SELECT ${entry} FROM generate_series(1, ${others}) AS i`)
    await client.query('ANALYZE inbox')
    // The other tables are empty here, where reading all of nothing is the cheapest.
    await client.query('SET enable_seqscan = off')
  })
  afterAll(async () => {
    await client.end()
    await database.drop()
  })

  it.each(Object.entries(statements))('%s', async (_name, { text, params }) => {
    let count = 0
    const numbered = text.replaceAll('?', () => `$${++count}`)
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`EXPLAIN ${numbered}`, [
      ...params,
    ])
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    expect(plan).not.toContain('Seq Scan')
    expect(plan).toMatch(/inbox_thread|repository_name_of|run_one_ahead|subject_name/)
  })
})
