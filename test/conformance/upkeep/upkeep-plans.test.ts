/**
 * Goal: the cost of a server's regular work depends on what it finds to do, not on how much is
 * stored: sweeping, purging, looking for webhooks and for work, counting for metrics.
 * Method: both databases explain the statements of the verbs, over many webhooks and subjects that
 * need nothing. Each plan must use an index, and must not read rows that it then drops.
 */
import { afterAll, describe, expect, it } from 'vitest'
import type { InboxEntry } from '../../../src/domain/inbox.ts'
import { makeIdFloor } from '../../../src/ids.ts'
import type { Row, Sql } from '../../../src/stores/sql.ts'
import { raw } from '../../../src/stores/sql.ts'
import { dueHeadCheck, headChecksWaiting } from '../../../src/stores/tables/head-check-table.ts'
import { dueEntries, triedEntries, untriedLanes } from '../../../src/stores/tables/inbox-due.ts'
import {
  hasLaterEvent,
  eventHeads,
  inboxBacklog,
  knownWebhooks,
  lastEvent,
  overtakenEntries,
  unclearEntries,
  hasStateEvent,
} from '../../../src/stores/tables/inbox-table.ts'
import {
  noteLooked,
  quietRepositories,
  repositoriesInUse,
} from '../../../src/stores/tables/repository-table.ts'
import type { VerbContext } from '../../../src/stores/verbs/context.ts'
import { listInbox } from '../../../src/stores/verbs/inbox/list-inbox.ts'
import { availableTypes } from '../../../src/stores/verbs/runs/hold-run.ts'
import {
  activeRuns,
  dueRuns,
  listRuns,
  lostHolds,
} from '../../../src/stores/verbs/runs/list-runs.ts'
import { purge } from '../../../src/stores/verbs/upkeep/purge.ts'
import { endedTokens } from '../../../src/stores/verbs/tokens/tokens.ts'
import { storeVitals } from '../../../src/stores/verbs/upkeep/vitals.ts'
import { migratedMemory } from '../../schema/dump-sqlite.ts'
import { numbersTo, statementsOf, stepsOnSqlite, usePostgresPlans } from '../plans.ts'

const history = 20_000
const dayMs = 86_400_000
const now = 1_767_225_600_000
const page = { limit: 20, cursor: null }
const busy = { repo: 'acme/busy', repoId: 77 }
/** One row for each thing that a purge looks for. */
const onePast = (statement: number): Row[] => [
  {
    ...{ id: `x_${statement}`, key: 'k', type: 'review', state: 'failed', round: 1, pair: 'pair' },
    ...{ subject_id: `sub_${statement}`, arrival: 7, touched_at: 0, identity: 'token', value: '' },
  },
]

function statements(): [string, Sql][] {
  const dialect = { lockFree: () => raw(''), auditOrder: raw('id'), numbersAuditsLater: false }
  const context = { now: () => now, dialect } as unknown as VerbContext
  const limits = {
    finishedMs: 30 * dayMs,
    supersededMs: 7 * dayMs,
    auditMs: 90 * dayMs,
    eventMs: 7 * dayMs,
  }
  const ofPurges = [
    ...statementsOf({ 'a purge of nothing': purge(context, limits, 'test') }),
    ...statementsOf({ 'a purge': purge(context, limits, 'test') }, onePast),
  ]
  const others = statementsOf({
    'runs to sweep': dueRuns(now, 100),
    'active runs': activeRuns(),
    'active runs of a repository': listRuns({ ...busy, state: 'running' }, page),
    'runs to lease': availableTypes(['review', 'docs'], [], null),
    'runs to lease but those of a type': availableTypes([], ['docs'], null),
    'runs to lease within limits': availableTypes(
      ['review'],
      [],
      [{ pattern: 'acme/busy', repositoryId: 'rep_1' }],
    ),
    'runs to lease within an owner': availableTypes(
      ['review'],
      [],
      [{ pattern: 'acme/*', repositoryId: null }],
    ),
    'lost holds': lostHolds([{ runId: 'run_7', fence: 7 }]),
    'ended tokens': endedTokens(['tok_7'], now),
    'repositories in use': repositoriesInUse(now - 30 * dayMs, 200),
    'a repository that was looked at': noteLooked(busy.repoId, now),
    'webhooks that are known': knownWebhooks(['guid 7', 'guid 0']),
    'the last webhooks of a lane': listInbox({ lane: 'lane 7', event: 'push' }, page),
    'quiet repositories': quietRepositories(now - 30 * dayMs, '5 rep_5', 10, now),
    'webhooks to process, by party': dueEntries(now),
    'webhooks to process, of a busy one': untriedLanes('busy', ''),
    'webhooks to process, tried before': triedEntries('busy', now),
    'heads to ask about': dueHeadCheck(now, raw('')),
    'heads that wait': headChecksWaiting(),
    'heads of stored events': eventHeads({ lane: 'lane 7' }, 200),
    'the head made last': lastEvent({ lane: 'lane 7', made: true }),
    'a stored closing event': hasStateEvent('lane 7', 'closed'),
    'whether a later event came': hasLaterEvent({ lane: 'lane 7', arrival: 1 } as InboxEntry),
    'whether one came after the last': hasLaterEvent({ lane: 'busy', arrival: 1e9 } as InboxEntry),
    'events of one second': unclearEntries(['inb_7']),
    'events that a later one overtook': overtakenEntries(['inb_7']),
    'webhooks that wait': inboxBacklog(),
    vitals: storeVitals(now),
  })
  return [...ofPurges, ...others]
}

/** Entries that were processed in the last days, in the order of their arrival. */
const inboxColumns = `id, webhook_id, event, lane, state, decision, outcomes, received_at,
  processed_at, tries`
const inboxRow = `'inb_' || i, 'guid ' || i, 'push', 'lane ' || i % 500, 'processed', 'accepted',
  '[]', ${now - 6 * dayMs} + i, ${now - 6 * dayMs} + i, 0`
/** Waiting entries of one party, all in one lane, half of them tried before. */
const waitingMax = 1500
const waitingColumns = `id, webhook_id, event, lane, state, decision, outcomes, received_at, due_at,
  party, tries, head_sha, event_at`
const waitingRow = `'inb_w' || i, 'waits ' || i, 'push', 'busy', 'waiting', 'accepted', '[]',
  ${now}, ${now} - i, 'busy', i % 2, 'abc', ${now} + i`
/** Head checks that are not due yet. */
const checkColumns = 'subject_id, run_id, due_at, tries, created_at'
const checkRow = `'sub_' || i, 'run_' || i, ${now + dayMs}, 0, ${now}`
/** Subjects that were created more than a year ago, and in use until recently. */
const subjectColumns = 'id, type, scope, name, created_at, touched_at'
const oldId = makeIdFloor('sub', now - 800 * dayMs)
const subjectRow = `'${oldId}' || i, 'review', 'rep_1', 'pr-' || i, 0, ${now - dayMs}`
/** Runs of one repository that all finished recently. */
const runColumns = `id, rev, type, subject_id, subject, key, pair, scope, state, on_newer, attempt,
  round, fence, rerun_wanted, past_lease_hashes, lease_ms, attempts_max, timeout_ms,
  pending_timeout_ms, created_at, finished_at, pr`
const runRow = `'run_' || i, 1, 'review', 'sub_' || i, 's', 'key ' || i, 'pair', 'rep_1',
  'succeeded', 'supersede', 1, 1, i, 0, '[]', 1, 1, 1, 1, ${now - dayMs}, ${now - dayMs} + i, i`
const repository = [
  `INSERT INTO repository (id, github_id, name, created_at) VALUES ('rep_1', 77, 'acme/busy', 0)`,
  `INSERT INTO repository_name (name, repository_id) VALUES ('acme/busy', 'rep_1')`,
]

describe('SQLite', () => {
  const db = migratedMemory()
  const numbers = numbersTo(history)
  db.exec(`INSERT INTO inbox (${inboxColumns}) ${numbers} SELECT ${inboxRow} FROM n`)
  db.exec(`INSERT INTO subject (${subjectColumns}) ${numbers} SELECT ${subjectRow} FROM n`)
  db.exec(`INSERT INTO head_check (${checkColumns}) ${numbers} SELECT ${checkRow} FROM n`)
  db.exec(`INSERT INTO run (${runColumns}) ${numbers} SELECT ${runRow} FROM n`)
  for (const statement of repository) db.exec(statement)
  db.exec(`INSERT INTO inbox (${waitingColumns}) ${numbers} SELECT ${waitingRow} FROM n
    WHERE i <= ${waitingMax}`)
  afterAll(() => db.close())

  it.each(statements())('%s', (name, statement) => {
    const steps = stepsOnSqlite(db, statement)
    // A full scan of a partial index is allowed, because it has only open rows.
    const open = 'run_(available|due|active)|inbox_(due|waiting|failed)|head_check_asked'
    const walks = new RegExp(`^(SEARCH |SCAN \\w+ USING (COVERING )?INDEX (${open}))`)
    const subqueries = 'LIST SUBQUERY|(CORRELATED )?SCALAR SUBQUERY|CO-ROUTINE|SCAN \\(subquery'
    const walking = 'SETUP|RECURSIVE STEP|SCAN walked$|MATERIALIZE walked|SCAN 2-ROW VALUES'
    const inner = new RegExp(`^(${subqueries}|${walking}|CREATE BLOOM FILTER)`)
    // These sort only what waits, or what one look may find.
    const sorts = /^(webhooks that wait|webhooks to process, tried|repositories in use)/.test(name)
      ? /^USE TEMP B-TREE FOR ORDER BY$/
      : name.startsWith('quiet') // Sorts those that were used in one millisecond.
        ? /^USE TEMP B-TREE FOR LAST TERM OF ORDER BY$/
        : /^$/
    if (name.startsWith('active runs of')) expect(steps[0]).toContain('INDEX run_state (state=?)')
    if (name.startsWith('whether')) expect(steps.join()).toContain('(lane=? AND arrival>?)')
    const allowed = [walks, inner, sorts]
    expect(steps.filter((step) => !allowed.some((form) => form.test(step)))).toEqual([])
  })
})

describe('PostgreSQL', () => {
  const from = `FROM generate_series(1, ${history}) AS i`
  const planOf = usePostgresPlans([
    `INSERT INTO inbox (${inboxColumns}) SELECT ${inboxRow} ${from}`,
    `INSERT INTO subject (${subjectColumns}) SELECT ${subjectRow} ${from}`,
    `INSERT INTO head_check (${checkColumns}) SELECT ${checkRow} ${from}`,
    `INSERT INTO run (${runColumns}) SELECT ${runRow} ${from}`,
    ...repository,
    `INSERT INTO inbox (${waitingColumns}) SELECT ${waitingRow}
      FROM generate_series(1, ${waitingMax}) AS i`,
  ])

  it.each(statements())('%s', async (name, statement) => {
    const nodes = await planOf(statement)
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan')
    // What one look for webhooks may read, however many webhooks of a party wait.
    const rowsMax = name.startsWith('webhooks to process') ? 500 : 2000
    for (const node of nodes) {
      expect(node['Rows Removed by Filter'] ?? 0).toBeLessThanOrEqual(10)
      expect(node['Actual Rows'] ?? 0).toBeLessThanOrEqual(rowsMax)
    }
  })
})
