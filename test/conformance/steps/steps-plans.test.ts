/**
 * Goal: what executors do all the time, leasing runs and writing steps, costs the same however many
 * runs and steps are stored.
 * Method: both databases explain the statements of the verbs, over many runs that have ended, many
 * that wait to be leased, and a step of each. Each plan must use an index, and must not read rows
 * that it then drops.
 */
import { afterAll, describe, expect, it } from 'vitest'
import type { StepRequest } from '../../../src/store.ts'
import type { Sql } from '../../../src/stores/sql.ts'
import { raw } from '../../../src/stores/sql.ts'
import {
  forgetLeases,
  listSteps,
  noteLateResult,
  selectStep,
  selectStepBegunAs,
  selectStepsOfRound,
} from '../../../src/stores/tables/step-table.ts'
import type { VerbContext } from '../../../src/stores/verbs/context.ts'
import { leaseMany } from '../../../src/stores/verbs/runs/grant-leases.ts'
import { availableTypes, leaseRun } from '../../../src/stores/verbs/runs/hold-run.ts'
import { executorHolds } from '../../../src/stores/verbs/runs/list-runs.ts'
import { actOnSteps } from '../../../src/stores/verbs/steps/act-on-steps.ts'
import { storeVitals } from '../../../src/stores/verbs/upkeep/vitals.ts'
import { migratedMemory } from '../../schema/dump-sqlite.ts'
import { grant, leaseMs, leaseRequest } from '../claims.ts'
import type { Answer } from '../plans.ts'
import { numbersTo, statementsOf, stepsOnSqlite, usePostgresPlans } from '../plans.ts'

const history = 20_000
const waitingMax = 3000
const now = 1_767_225_600_000

const beginning = (i: number): StepRequest => ({
  ...{ runId: `run_${i}`, leaseHash: 'hash', name: `new ${i}`, startId: 'start' },
  ...{ codeVersion: null, actor: 'test' },
  action: { do: 'begin', policy: 'repeat' },
})
/** Who holds the run, as values in the order of the columns. */
const held = (i: number): Answer => [`run_${i}`, 'running', 1, 1, 'hash', '', null, null, null]

function statements(): [string, Sql][] {
  const context = {
    now: () => now,
    dialect: { lockFree: () => raw(''), keepUnchanged: raw('') },
  } as unknown as VerbContext
  const many = { grants: [grant(), grant()], leaseMs, type: 'waits', actor: 'test' }
  const begun = [beginning(1), beginning(2)]
  return [
    ...statementsOf({ 'to begin steps': actOnSteps(context, begun) }, (statement) => {
      if (statement === 1) return [held(1), held(2)]
      return statement === 2 ? [] : [{ name: 'new 1' }, { name: 'new 2' }]
    }),
    ...statementsOf({
      'to lease many': leaseMany(context, { ...many, askedOnly: false }),
      'to lease many that are asked for': leaseMany(context, { ...many, askedOnly: true }),
      'to lease one of any type': leaseRun(context, leaseRequest()),
      'to lease one of two types': leaseRun(context, leaseRequest({ types: ['waits', 'none'] })),
      'types to lease': availableTypes(['waits', 'none'], [], null),
      'runs of executors': executorHolds(),
      'steps for a lease': selectStepsOfRound('run_7', 1),
      'steps of a run': listSteps('run_7', null),
      'a step': selectStep('run_7', 'model'),
      'a step by its start': selectStepBegunAs({
        ...{ runId: 'run_7', name: 'model', startId: 'start', leaseHash: 'hash' },
      }),
      'a late result': noteLateResult(
        { runId: 'run_7', round: 1, name: 'model' },
        { startId: 'start', leaseHash: 'hash' },
      ),
      'steps of a revoked lease': forgetLeases([{ runId: 'run_7', leaseHash: 'hash' }]),
      vitals: storeVitals(now),
    }),
  ]
}

const runColumns = `id, rev, type, subject_id, subject, key, pair, scope, state, on_newer, attempt,
  round, fence, rerun_wanted, past_lease_hashes, lease_ms, attempts_max, timeout_ms,
  pending_timeout_ms, created_at, finished_at, available_at, asked`
const endedRow = `'run_' || i, 1, 'review', 'sub_' || i, 's', 'key ' || i, 'pair', 'rep_1',
  'succeeded', 'supersede', 1, 1, i, 0, '', 1, 1, 1, 1, ${now}, ${now} + i, NULL, 0`
const waitingRow = `'run_w' || i, 1, 'waits', 'sub_w' || i, 's', 'w ' || i, 'pair', 'rep_1',
  'pending', 'supersede', 1, 1, i, 0, '', 1, 1, 1, 1, ${now}, NULL, ${now} + i, i % 2`
const subjectColumns = 'id, type, scope, name, created_at, touched_at'
const subjectRow = `'sub_w' || i, 'waits', 'rep_1', 'pr-' || i, 0, ${now}`
const stepColumns = `run_id, round, name, rev, state, policy, attempt, fence, start_id, started_at,
  ended_at, result`
const stepRow = `'run_' || i, 1, 'model', 1, 'done', 'repeat', 1, 1, 'start', 0, 1, '1'`

/** Each fills a table from rows that count to a number in `i`. */
const fills = [
  [`INSERT INTO run (${runColumns})`, endedRow, history],
  [`INSERT INTO run (${runColumns})`, waitingRow, waitingMax],
  [`INSERT INTO subject (${subjectColumns})`, subjectRow, waitingMax],
  [`INSERT INTO step (${stepColumns})`, stepRow, history],
] as const

it('the made-up rows lead through all of a beginning', () => {
  const begins = statements().filter(([name]) => name.startsWith('to begin'))
  expect(begins.map(([, { text }]) => text.split(' ')[0])).toEqual(['SELECT', 'WITH', 'INSERT'])
})

describe('SQLite', () => {
  const db = migratedMemory()
  for (const [into, row, count] of fills) {
    db.exec(`${into} ${numbersTo(count)} SELECT ${row} FROM n`)
  }
  afterAll(() => db.close())

  it.each(statements())('%s', (name, statement) => {
    const steps = stepsOnSqlite(db, statement)
    // A scan of a partial index in its own order is allowed, because it ends early.
    const walks = /^(SEARCH |SCAN \w+ USING (COVERING )?INDEX run_(available|due))/
    const lists = /^(SCAN wanted|SCAN \d+ CONSTANT ROWS?|CO-ROUTINE|MATERIALIZE|SCAN 2-ROW VALUES)/
    const inner = /^(SCALAR SUBQUERY|LIST SUBQUERY)/
    const sorts = name.startsWith('steps of a run') ? /^USE TEMP B-TREE FOR ORDER BY$/ : /^$/
    const allowed = [walks, lists, inner, sorts]
    expect(steps.filter((step) => !allowed.some((form) => form.test(step)))).toEqual([])
  })
})

describe('PostgreSQL', () => {
  const planOf = usePostgresPlans(
    fills.map(([into, row, count]) => `${into} SELECT ${row} FROM generate_series(1, ${count}) i`),
  )

  it.each(statements())('%s', async (_name, statement) => {
    const nodes = await planOf(statement)
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan')
    for (const node of nodes) {
      expect(node['Rows Removed by Filter'] ?? 0).toBeLessThanOrEqual(10)
      expect(node['Actual Rows'] ?? 0).toBeLessThanOrEqual(2000)
    }
  })
})
