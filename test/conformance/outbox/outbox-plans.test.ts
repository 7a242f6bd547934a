/**
 * Goal: the cost of what publishers, servers and scrapers ask regularly depends on the answer, not
 * on how much was published before.
 * Method: both databases explain the statements of the verbs, over many closed deliveries. Each
 * plan must use an index, and must not read rows that it then drops.
 */
import { channelsByName } from '../../../src/channels/github-channels.ts'
import { afterAll, describe, expect, it } from 'vitest'
import type { Delivery } from '../../../src/domain/outbox/delivery.ts'
import type { Run } from '../../../src/domain/run.ts'
import { driveNow } from '../../../src/stores/driver.ts'
import { Connection } from '../../../src/stores/drivers/sqlite-connection.ts'
import type { Sql, Verb } from '../../../src/stores/sql.ts'
import { raw, sql } from '../../../src/stores/sql.ts'
import { blockedUntil } from '../../../src/stores/tables/budget-table.ts'
import {
  beforeInLine,
  deliveriesAt,
  firstInQueue,
  firstTurn,
  firstWaitingInLine,
  hasMessageWaiting,
  lastInLine,
  lastTurnOf,
  selectAttempts,
  selectNamed,
  selectQueueHeads,
  selectProtocols,
} from '../../../src/stores/tables/delivery-table.ts'
import { selectOthersAt, selectWithCheckAt } from '../../../src/stores/tables/run-table.ts'
import { firstUnclosed, selectUnclosed } from '../../../src/stores/tables/unclosed-run-table.ts'
import { announcementsOf } from '../../../src/stores/verbs/outbox/repeat-hidden.ts'
import type { VerbContext } from '../../../src/stores/verbs/context.ts'
import {
  leaseDeliveries,
  nextDueAt,
  takeOverLeases,
  withPlaces,
} from '../../../src/stores/verbs/outbox/lease-deliveries.ts'
import { listDeliveries, outboxBacklog } from '../../../src/stores/verbs/outbox/list-deliveries.ts'
import { closeForgotten } from '../../../src/stores/verbs/outbox/operate-delivery.ts'
import { nextToNote } from '../../../src/stores/verbs/outbox/note-restore.ts'
import { closeOwnOutput } from '../../../src/stores/verbs/outbox/close-output.ts'
import { migratedMemory } from '../../schema/dump-sqlite.ts'
import { numbersTo, statementsOf, stepsOnSqlite, usePostgresPlans } from '../plans.ts'

const history = 20_000
const inLine = 2000
const noting = { restoredAt: history, copiedAt: history, readAt: 0 }
const placeless = { repositoryId: 'rep_7', subjectId: 'sub_7', runId: 'run_7' } as Delivery
const page = { limit: 10, cursor: null }

const contextAt = (now: number): VerbContext =>
  ({
    now: () => now,
    dialect: { lockFree: () => raw('') },
    channels: channelsByName,
  }) as unknown as VerbContext

function statements(): [string, Sql][] {
  const context = contextAt(history)
  return statementsOf({
    'what is due, to be leased': leaseDeliveries(context, { limit: 6, progressMax: 3 }),
    'when something is due': nextDueAt(),
    'what is due of one run': leaseDeliveries(context, {
      limit: 6,
      progressMax: 3,
      runId: 'run_7',
    }),
    'when something of one run is due': nextDueAt('run_7'),
    'the first of every queue': selectQueueHeads(),
    'who is first in a long queue': firstInQueue('busy github-status', 0),
    'whether anybody waits there': firstInQueue('busy github-status', 1),
    'which read of an account repairs first': firstInQueue('busy repair', 2),
    'whether a run has a message waiting': hasMessageWaiting('run_busy', 'own_7'),
    'what a run published under a name': selectNamed('run_busy', 'c7', 1),
    'whose turn it is': firstTurn('busy github-comment'),
    'the last in the line of a run': lastInLine('run_lined', raw('')),
    'who goes next in the line of a run': firstWaitingInLine('run_lined'),
    'who goes before one in the line of a run': beforeInLine('run_lined', 7),
    'the last turn of a run': lastTurnOf('run_busy', 'busy github-comment'),
    'where what was leased belongs': withPlaces([placeless]),
    'whether an identity may ask': blockedUntil('token'),
    'leases of a dead process': takeOverLeases(context),
    'the backlog': outboxBacklog(history),
    'what ended runs left announced': closeForgotten(context, 100),
    'the newest': listDeliveries({}, page, history),
    'of a run': listDeliveries({ runId: 'run_7' }, page, history),
    'failed ones': listDeliveries({ status: 'FAILED' }, page, history),
    'of a channel': listDeliveries({ channel: 'github-label' }, page, history),
    'at a target': deliveriesAt(['target 7']),
    'what ended runs have left under way': closeOwnOutput(context, [
      { run: { id: 'run_7', state: 'succeeded' } as Run, causeId: 7 },
      { run: { id: 'run_8', state: 'cancelled' } as Run, causeId: 8 },
    ]),
    'which run has more to close': firstUnclosed(),
    'how far it is closed': selectUnclosed('run_7'),
    'other runs on a commit': selectOthersAt('rep_7', 'sha 7', 'run_7'),
    'runs with a check on a commit': selectWithCheckAt('rep_7', 'sha 7', 'holdfast/review'),
    'the check runs of runs': announcementsOf(channelsByName.of('github-check'), [
      'run_7',
      'run_8',
    ]),
    'the protocol state of some': selectProtocols(['del_7', 'del_8', 'del_9'], 2),
    'the tries of one': selectAttempts(sql`delivery_id = ${'del_7'} ORDER BY id DESC LIMIT 100`),
  })
}

/** Almost all of them are closed. */
const columns = `id, rev, kind, channel, target, name, run_id, subject_id, repository_id,
  marker_key, round,
  version_fence, version_seq, content, final, announces, status, reason, priority, tries,
  deadline_at, coalesced, protocol, created_at, changed_at, closed_at, wait, due_at`
const row = `'del_' || i, 1, 'state',
  CASE i % 500 WHEN 0 THEN 'github-label' ELSE 'github-status' END,
  'target ' || i, 'status', 'run_' || i, 's' || i, 'r', 'k', 1, i, 1, '{}', 1,
  CASE i % 5000 WHEN 0 THEN 1 ELSE 0 END,
  CASE i % 2000 WHEN 0 THEN 'PENDING' WHEN 1 THEN 'FAILED' ELSE 'SENT' END, 'why', i % 2, 0,
  0, 0, '{}', i, i, CASE i % 2000 WHEN 0 THEN NULL ELSE i END,
  CASE i % 2000 WHEN 0 THEN 'due' ELSE NULL END, CASE i % 2000 WHEN 0 THEN i ELSE NULL END`
/** Thousands of deliveries that wait for one identity. */
const queuedRow = `'queued_' || i, 1, 'state', 'github-status', 'queued ' || i, 'status',
  'run_' || i, 's' || i, 'r', 'k', 1, i, 1, '{}', 1, 0, 'PENDING', NULL, 0, 0,
  0, 0, '{}', i, i, NULL, 'budget', i`
/** Thousands of messages of one run that wait in the queue. */
const ownRow = queuedRow
  .replace("'queued_'", "'own_'")
  .replace("'state'", "'message'")
  .replace("'PENDING', NULL, 0,", "'PENDING', NULL, 3,")
  .replace("'queued '", "'own '")
  .replace("'status'", "'c' || i")
  .replace("'run_' || i", "'run_busy'")
/** Thousands of messages of another run, each of which waits for the one before it. */
const linedRow = ownRow
  .replace("'own_'", "'lined_'")
  .replace("'own '", "'lined '")
  .replace("'run_busy'", "'run_lined'")
  .replace("NULL, 'budget', i", "NULL, 'order', 2 * i")
const tries = `'att_' || i, 'del_' || i % 9000, 'create', i, 1, i, 0`
const tryColumns = 'id, delivery_id, action, version_fence, version_seq, started_at, late'

it('counting open deliveries does not read their content', () => {
  const asked = statementsOf({ backlog: outboxBacklog(history) }).map(([, { text }]) => text)
  for (const text of asked) expect(text).not.toMatch(/\b(content|protocol|error_text)\b/)
})

describe('SQLite', () => {
  const db = migratedMemory()
  const numbers = numbersTo(history)
  db.exec(`INSERT INTO delivery (${columns}) ${numbers} SELECT ${row} FROM n`)
  db.exec(`INSERT INTO delivery (${columns}, queue, waits_since) ${numbers}
    SELECT ${queuedRow}, 'busy github-status', i FROM n`)
  db.exec(`INSERT INTO delivery (${columns}, queue, waits_since, turn) ${numbers}
    SELECT ${ownRow}, 'busy github-comment', i, i FROM n`)
  db.exec(`INSERT INTO delivery (${columns}, line) ${numbersTo(inLine)}
    SELECT ${linedRow}, i FROM n`)
  db.exec(`INSERT INTO delivery_attempt (${tryColumns}) ${numbers} SELECT ${tries} FROM n`)
  afterAll(() => db.close())
  const connection = new Connection(db)

  /** Returns how many statements the verb makes. */
  function countOf(verb: Verb<unknown>): number {
    let count = 0
    driveNow(verb, (statement) => {
      count += 1
      return connection.query(statement)
    })
    return count
  }

  it('a look for what is due takes as few statements for a hundred queues as for two', () => {
    const early = contextAt(0)
    const looks = () => [
      countOf(nextDueAt()),
      countOf(leaseDeliveries(early, { limit: 6, progressMax: 3 })),
    ]
    const before = looks()
    db.exec('SAVEPOINT many')
    const otherRow = queuedRow.replaceAll("'queued", "'other")
    db.exec(`INSERT INTO delivery (${columns}, queue, waits_since) ${numbersTo(100)}
      SELECT ${otherRow}, 'installation' || i || ' github-status', i FROM n`)
    expect(looks()).toEqual(before)
    db.exec('ROLLBACK TO many')
  })

  it('a summary of what is open reads only some of many large protocol states', () => {
    db.exec('SAVEPOINT large')
    const size = (id: string, bytes: number): void => {
      const protocol = JSON.stringify({ recreatedFrom: 'x'.repeat(bytes) })
      db.prepare('UPDATE delivery SET protocol = ? WHERE id = ?').run(protocol, id)
    }
    size('del_6', 4000)
    for (const id of ['del_7', 'del_8', 'del_9']) size(id, 100_000)
    const ids = ['del_7', 'del_6', 'del_8', 'del_9']
    const read = driveNow(selectProtocols(ids, 2), connection.query)
    expect([...read.keys()].toSorted()).toEqual(['del_6', 'del_7', 'del_8'])
    db.exec('ROLLBACK TO large')
  })

  it('what a run published under a name is found by run and name together', () => {
    const [[, statement]] = statementsOf({ named: selectNamed('run_7', 'c7', 1) }) as [
      [string, Sql],
    ]
    expect(stepsOnSqlite(db, statement).join()).toContain('(run_id=? AND name=? AND round=?)')
  })

  it.each([
    ['the first bite', { ...noting, newest: 'own_9', before: null }],
    ['a later bite', { ...noting, newest: 'own_9', before: 'del_500' }],
  ])('noting a restore continues where it stopped, %s', (_name, at) => {
    const [[, statement]] = statementsOf({ bite: nextToNote(at) }) as [[string, Sql]]
    const steps = stepsOnSqlite(db, statement)
    expect(steps).toHaveLength(1)
    expect(steps[0]).toMatch(/^SEARCH delivery USING INDEX sqlite_autoindex_delivery_1 \(id<\?\)/)
  })

  it.each(statements())('%s', (name, statement) => {
    // Rows that the statement itself creates need no index.
    const madeUp = /^(SCAN|SEARCH) (CONSTANT ROW|queues|kinds)|^(?!SCAN|SEARCH|USE)/
    const steps = stepsOnSqlite(db, statement).filter((step) => !madeUp.test(step))
    // A list without a condition scans the table from its end. A scan of a partial index is
    // allowed, because it has only open rows. Of the runs to close, the first is taken.
    const walks =
      /^(SEARCH |SCAN (unclosed_run$|delivery USING (COVERING )?INDEX (delivery_|sqlite_auto)))/
    const sorts = /^what ended runs|of one run/.test(name)
      ? /TEMP B-TREE FOR (DISTINCT|ORDER BY)/
      : /^$/
    expect(steps.filter((step) => !walks.test(step) && !sorts.test(step))).toEqual([])
  })
})

describe('PostgreSQL', () => {
  const from = `FROM generate_series(1, ${history}) AS i`
  const planOf = usePostgresPlans([
    `INSERT INTO delivery (${columns}) SELECT ${row} ${from}`,
    `INSERT INTO delivery (${columns}, queue, waits_since)
      SELECT ${queuedRow}, 'busy github-status', i ${from}`,
    `INSERT INTO delivery (${columns}, queue, waits_since, turn)
      SELECT ${ownRow}, 'busy github-comment', i, i ${from}`,
    `INSERT INTO delivery (${columns}, line)
      SELECT ${linedRow}, i FROM generate_series(1, ${inLine}) AS i`,
    `INSERT INTO delivery_attempt (${tryColumns}) SELECT ${tries} ${from}`,
  ])

  it('noting a restore walks down the ids', async () => {
    const at = { ...noting, newest: 'own_9', before: 'del_9' }
    const [[, statement]] = statementsOf({ bite: nextToNote(at) }) as [[string, Sql]]
    const nodes = await planOf(statement)
    expect(nodes.map((node) => node['Node Type'])).toEqual(['Limit', 'Index Scan'])
    expect(nodes[1]?.['Index Name']).toBe('delivery_pkey')
  })

  it.each(statements())('%s', async (_name, statement) => {
    const nodes = await planOf(statement)
    const ours = nodes.filter((node) => node['Relation Name']?.startsWith('delivery') === true)
    expect(ours.map((node) => node['Node Type'])).not.toContain('Seq Scan')
    for (const node of ours) expect(node['Rows Removed by Filter'] ?? 0).toBeLessThanOrEqual(10)
  })
})
