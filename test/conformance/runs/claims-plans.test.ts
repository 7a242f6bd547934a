/**
 * Goal: what a claim reads, and a list by key, costs the same however many runs are stored.
 * Method: both databases explain the statements over many runs of pull requests and of jobs. Each
 * plan must use an index, and must not read rows that it then drops.
 */
import { afterAll, describe, expect, it } from 'vitest'
import type { Sql } from '../../../src/stores/sql.ts'
import { selectForClaims } from '../../../src/stores/tables/run-table.ts'
import { listRuns } from '../../../src/stores/verbs/runs/list-runs.ts'
import { pullRequestKey } from '../../../src/domain/pair.ts'
import { migratedMemory } from '../../schema/dump-sqlite.ts'
import { numbersTo, statementsOf, stepsOnSqlite, usePostgresPlans } from '../plans.ts'

const history = 20_000
const now = 1_767_225_600_000
const page = { limit: 100, cursor: null }

/** As `runRow` has it: the number is decimal, which is a valid SHA too. */
const keyOf = (i: number): string => {
  return pullRequestKey('acme/busy', i, { baseSha: '0', headSha: String(i) })
}
const target = (i: number, key: string) => ({
  ...{ subjectId: `sub_${i}`, pair: `base-0:head-${i}`, key, type: 'review', supersedes: true },
})

function statements(): [string, Sql][] {
  const known = [target(7, keyOf(7)), target(8, 'job 8')]
  const foreign = [target(-1, keyOf(9)), target(-2, 'job 9')]
  return statementsOf({
    'what claims read': selectForClaims(known),
    'what claims read whose keys are known elsewhere': selectForClaims(foreign),
    'runs of one key': listRuns({ key: keyOf(7) }, page),
    'runs of a job key': listRuns({ key: 'job 7' }, page),
  })
}

const columns = `id, rev, type, subject_id, subject, key, pair, scope, state, on_newer, attempt,
  round, fence, rerun_wanted, past_lease_hashes, lease_ms, attempts_max, timeout_ms,
  pending_timeout_ms, created_at, finished_at, pr, head_sha`
const rest = `'supersede', 1, 1, i, 0, '', 1, 1, 1, 1, ${now}, ${now} + i`
const pullRequest = `'run_' || i, 1, 'review', 'sub_' || i, 's',
  'acme/busy:pr-' || i || ':base-0:head-' || i, 'base-0:head-' || i, 'rep_1', 'succeeded', ${rest},
  i, CAST(i AS TEXT)`
const job = `'run_j' || i, 1, 'review', 'sub_j' || i, 's', 'job ' || i, 'job ' || i, 'rep_1',
  'succeeded', ${rest}, NULL, NULL`
const rows = [pullRequest, job]

describe('SQLite', () => {
  const db = migratedMemory()
  for (const row of rows) {
    db.exec(`INSERT INTO run (${columns}) ${numbersTo(history)} SELECT ${row} FROM n`)
  }
  afterAll(() => db.close())

  it.each(statements())('%s', (_name, statement) => {
    const allowed = [
      /^SEARCH run USING (COVERING )?INDEX \w+ \((subject_id|head_sha|key|id)=\?/,
      /^(SCAN wanted|SCAN \d+ CONSTANT ROWS?|SCAN 2-ROW VALUES|CO-ROUTINE|MATERIALIZE)/,
      /^(MULTI-INDEX OR|INDEX \d|LIST SUBQUERY|COMPOUND QUERY|LEFT-MOST SUBQUERY|UNION ALL)/,
      /^(CREATE BLOOM FILTER|USE TEMP B-TREE FOR ORDER BY)/,
    ]
    const steps = stepsOnSqlite(db, statement)
    expect(steps.filter((step) => !allowed.some((form) => form.test(step)))).toEqual([])
  })
})

describe('PostgreSQL', () => {
  const planOf = usePostgresPlans(
    rows.map(
      (row) => `INSERT INTO run (${columns}) SELECT ${row} FROM generate_series(1, ${history}) i`,
    ),
  )

  it.each(statements())('%s', async (_name, statement) => {
    const nodes = await planOf(statement)
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan')
    for (const node of nodes) {
      expect(node['Rows Removed by Filter'] ?? 0).toBeLessThanOrEqual(10)
      expect(node['Actual Rows'] ?? 0).toBeLessThanOrEqual(10)
    }
  })
})
