/**
 * Goal: the cost of `why` depends on its answer, not on how much else is stored.
 * Method: both databases explain the statements of its reads, over many rows of other subjects.
 * Each plan must use an index.
 */
import { afterAll, describe, expect, it } from 'vitest'
import type { Sql } from '../../../src/stores/sql.ts'
import { entriesByWebhook } from '../../../src/stores/tables/inbox-table.ts'
import { listInbox } from '../../../src/stores/verbs/inbox/list-inbox.ts'
import { runAhead, subjectsOf } from '../../../src/stores/verbs/runs/list-runs.ts'
import { migratedMemory } from '../../schema/dump-sqlite.ts'
import { numbersTo, stepsOnSqlite, usePostgresPlans } from '../plans.ts'

const page = { limit: 20, cursor: null }
const thread = listInbox({ repo: 'acme/r7', number: 7 }, page)
const statements: Readonly<Record<string, Sql>> = {
  'the names of its repository': thread.next().value as Sql,
  'the webhooks of a thread': thread.next([{ name: 'acme/r7' }]).value as Sql,
  'the webhooks that runs name': entriesByWebhook(['guid-7', 'guid-8']).next().value as Sql,
  'the run ahead': runAhead('sub_7').next().value as Sql,
  'the subjects by GitHub’s id': subjectsOf('acme/r7', 7, 7).next().value as Sql,
  'the subjects of a pull request': subjectsOf('acme/r7', 7, null).next().value as Sql,
}

const others = 5000
const entry = `'inb_' || i, 'guid-' || i, 'pull_request', 'acme/r' || i % 50, i % 100,
  'l' || i % 500, 'processed', 'ignored', '[]', 0, 0, 0`
const columns = `id, webhook_id, event, repo, number, lane, state, decision, outcomes, received_at,
  processed_at, tries`

describe('SQLite', () => {
  const db = migratedMemory()
  db.exec(`INSERT INTO inbox (${columns})
    ${numbersTo(others)} SELECT ${entry} FROM n`)
  afterAll(() => db.close())

  it.each(Object.entries(statements))('%s', (name, statement) => {
    const steps = stepsOnSqlite(db, statement)
    expect(steps.filter((step) => step.startsWith('SCAN'))).toEqual([])
    if (name.includes('webhooks')) expect(steps.join()).not.toContain('TEMP B-TREE')
  })
})

describe('PostgreSQL', () => {
  const planOf = usePostgresPlans([
    `INSERT INTO inbox (${columns}) SELECT ${entry} FROM generate_series(1, ${others}) AS i`,
    // The other tables are empty, and a full scan of an empty table is the cheapest plan.
    'SET enable_seqscan = off',
  ])

  it.each(Object.entries(statements))('%s', async (_name, statement) => {
    const nodes = await planOf(statement)
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan')
    const indexes = nodes.map((node) => node['Index Name'] ?? '').join(' ')
    expect(indexes).toMatch(
      /inbox_thread|inbox_webhook_id|repository_name_of|run_one_ahead|subject_name/,
    )
  })
})
