/**
 * Goal: what a server does again and again by itself costs what it finds to do, however much there
 * is: sweeping, purging, looking for webhooks and for work, counting for metrics.
 * Method: the very statements of the verbs are explained on both databases, over many webhooks and
 * subjects that need nothing: each must go along an index, and read nothing that it leaves out.
 */
import { afterAll, describe, expect, it } from 'vitest'
import { makeIdFloor } from '../../src/ids.ts'
import type { Sql } from '../../src/stores/sql.ts'
import { raw } from '../../src/stores/sql.ts'
import { dueEntries, inboxBacklog } from '../../src/stores/tables/inbox-table.ts'
import { repositoriesInUse } from '../../src/stores/tables/repository-table.ts'
import type { VerbContext } from '../../src/stores/verbs/context.ts'
import { availableTypes } from '../../src/stores/verbs/hold-run.ts'
import { activeRuns, dueRuns, lostHolds } from '../../src/stores/verbs/lists.ts'
import { purge } from '../../src/stores/verbs/purge.ts'
import { endedTokens } from '../../src/stores/verbs/tokens.ts'
import { storeVitals } from '../../src/stores/verbs/vitals.ts'
import { migratedMemory } from '../schema/dump-sqlite.ts'
import { numbersTo, statementsOf, stepsOnSqlite, usePostgresPlans } from './plans.ts'

const history = 20_000
const dayMs = 86_400_000
const now = 1_767_225_600_000

function statements(): [string, Sql][] {
  const dialect = { lockFree: () => raw(''), auditOrder: raw('id'), placesAudits: false }
  const context = { now: () => now, dialect } as unknown as VerbContext
  const limits = {
    finishedMs: 30 * dayMs,
    supersededMs: 7 * dayMs,
    auditMs: 90 * dayMs,
    eventMs: 7 * dayMs,
  }
  return statementsOf({
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
  })
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
  const numbers = numbersTo(history)
  db.exec(`INSERT INTO inbox (${inboxColumns}) ${numbers} SELECT ${inboxRow} FROM n`)
  db.exec(`INSERT INTO subject (${subjectColumns}) ${numbers} SELECT ${subjectRow} FROM n`)
  afterAll(() => db.close())

  it.each(statements())('%s', (name, statement) => {
    const steps = stepsOnSqlite(db, statement)
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
  const from = `FROM generate_series(1, ${history}) AS i`
  const planOf = usePostgresPlans([
    `INSERT INTO inbox (${inboxColumns}) SELECT ${inboxRow} ${from}`,
    `INSERT INTO subject (${subjectColumns}) SELECT ${subjectRow} ${from}`,
  ])

  it.each(statements())('%s', async (_name, statement) => {
    const nodes = await planOf(statement)
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan')
    for (const node of nodes) {
      expect(node['Rows Removed by Filter'] ?? 0).toBeLessThanOrEqual(10)
      expect(node['Actual Rows'] ?? 0).toBeLessThanOrEqual(2000)
    }
  })
})
