/**
 * Goal: what a server does again and again by itself costs what it finds to do, however much there
 * is: sweeping, purging, looking for webhooks and for work, counting for metrics.
 * Method: the very statements of the verbs are explained on both databases, over many webhooks and
 * subjects that need nothing: each must go along an index, and read nothing that it leaves out.
 */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeIdFloor } from '../../src/ids.ts'
import { openPostgresDriver, sessionOptions } from '../../src/stores/open-postgres.ts'
import type { Row, Sql, Verb } from '../../src/stores/sql.ts'
import { raw } from '../../src/stores/sql.ts'
import { dueEntries, inboxBacklog } from '../../src/stores/tables/inbox-table.ts'
import { repositoriesInUse } from '../../src/stores/tables/repository-table.ts'
import type { VerbContext } from '../../src/stores/verbs/context.ts'
import { availableTypes } from '../../src/stores/verbs/hold-run.ts'
import { activeRuns, dueRuns, lostHolds } from '../../src/stores/verbs/lists.ts'
import { purge } from '../../src/stores/verbs/purge.ts'
import { endedTokens } from '../../src/stores/verbs/tokens.ts'
import { storeVitals } from '../../src/stores/verbs/vitals.ts'
import { seams } from '../chaos/open-store.ts'
import { freshDatabase, type TestDatabase } from '../postgres/fresh-database.ts'
import { migratedMemory } from '../schema/dump-sqlite.ts'

const history = 20_000
const dayMs = 86_400_000
const now = 1_767_225_600_000

/** Every statement of a verb that finds nothing. */
function allOf(verb: Verb<unknown>): Sql[] {
  const found: Sql[] = []
  const nothing: readonly Row[] = []
  for (let step = verb.next(); step.done !== true; step = verb.next(nothing)) found.push(step.value)
  return found
}

function statements(): [string, Sql][] {
  const dialect = { lockFree: () => raw(''), auditOrder: raw('id'), placesAudits: false }
  const context = { now: () => now, dialect } as unknown as VerbContext
  const limits = {
    finishedMs: 30 * dayMs,
    supersededMs: 7 * dayMs,
    auditMs: 90 * dayMs,
    eventMs: 7 * dayMs,
  }
  const verbs: Readonly<Record<string, Verb<unknown>>> = {
    'a purge': purge(context, limits, 'test'),
    'runs to sweep': dueRuns(now, 100),
    'active runs': activeRuns(),
    'runs to lease': availableTypes(['review', 'docs'], true),
    'lost holds': lostHolds([{ runId: 'run_7', fence: 7 }]),
    'ended tokens': endedTokens(['tok_7'], now),
    'repositories in use': repositoriesInUse(now - 30 * dayMs, 200),
    'webhooks to process': dueEntries(now, 64),
    'webhooks that wait': inboxBacklog(),
    vitals: storeVitals(now),
  }
  return Object.entries(verbs).flatMap(([name, verb]) =>
    allOf(verb).map((statement, i): [string, Sql] => [`${name} (${i + 1})`, statement]),
  )
}

/** Processed within the last days, in the order of their arrival. */
const inboxColumns = `id, webhook_id, event, lane, state, decision, outcomes, received_at,
  processed_at, tries`
const inboxRow = `'inb_' || i, 'guid ' || i, 'push', 'lane ' || i % 500, 'processed', 'accepted',
  '[]', ${now - 6 * dayMs} + i, ${now - 6 * dayMs} + i, 0`
/** Made more than a year ago, and in use until lately. */
const subjectColumns = 'id, type, scope, name, created_at, touched_at'
const oldId = makeIdFloor('sub', now - 800 * dayMs)
const subjectRow = `'${oldId}' || i, 'review', 'rep_1', 'pr-' || i, 0, ${now - dayMs}`

describe('SQLite', () => {
  const db = migratedMemory()
  const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
    WHERE i < ${history})`
  db.exec(`INSERT INTO inbox (${inboxColumns}) ${numbers} SELECT ${inboxRow} FROM n`)
  db.exec(`INSERT INTO subject (${subjectColumns}) ${numbers} SELECT ${subjectRow} FROM n`)
  afterAll(() => db.close())

  it.each(statements())('%s', (name, { text, params }) => {
    const steps = db
      .prepare(`EXPLAIN QUERY PLAN ${text}`)
      .all(...params)
      .map(({ detail }) => String(detail))
    // A partial index that is walked whole has only what is open, or needs a person.
    const open = 'run_(available|due|active)|inbox_(due|waiting|failed)'
    const walks = new RegExp(`^(SEARCH |SCAN \\w+ USING (COVERING )?INDEX (${open}))`)
    const inner =
      /^(LIST SUBQUERY|CORRELATED SCALAR SUBQUERY|CO-ROUTINE|CREATE BLOOM FILTER|SCAN \(subquery)/
    // Sorts no more than what waits.
    const sorts = /^(webhooks that wait|repositories in use)/.test(name)
      ? /^USE TEMP B-TREE FOR ORDER BY$/
      : /^$/
    const allowed = [walks, inner, sorts]
    expect(steps.filter((step) => !allowed.some((form) => form.test(step)))).toEqual([])
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
    const from = `FROM generate_series(1, ${history}) AS i`
    await client.query(`INSERT INTO inbox (${inboxColumns}) SELECT ${inboxRow} ${from}`)
    await client.query(`INSERT INTO subject (${subjectColumns}) SELECT ${subjectRow} ${from}`)
    await client.query('ANALYZE')
  })
  afterAll(async () => {
    await client.end()
    await database.drop()
  })

  interface Plan {
    readonly 'Node Type': string
    readonly 'Rows Removed by Filter'?: number
    readonly 'Actual Rows'?: number
    readonly Plans?: readonly Plan[]
  }
  const flat = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(flat)]

  it.each(statements())('%s', async (_name, { text, params }) => {
    let count = 0
    const numbered = text.replaceAll('?', () => `$${++count}`)
    const { rows } = await client.query<{ 'QUERY PLAN': readonly [{ readonly Plan: Plan }] }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${numbered}`,
      [...params],
    )
    const nodes = flat(rows[0]!['QUERY PLAN'][0].Plan)
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan')
    for (const node of nodes) {
      expect(node['Rows Removed by Filter'] ?? 0).toBeLessThanOrEqual(10)
      expect(node['Actual Rows'] ?? 0).toBeLessThanOrEqual(2000)
    }
  })
})
