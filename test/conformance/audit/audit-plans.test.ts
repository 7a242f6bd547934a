/**
 * Goal: the cost of a page of the audit depends on the page, not on the length of the history.
 * Method: both databases explain the statements of the verbs. Each plan must use an index in the
 * order of the page. It must not sort, and must not read rows that it then drops.
 */
import { afterAll, describe, expect, it } from 'vitest'
import type { AuditFilter } from '../../../src/store.ts'
import type { Sql } from '../../../src/stores/sql.ts'
import { raw } from '../../../src/stores/sql.ts'
import {
  auditAfter,
  latestAudit,
  listAudit,
  numberAudits,
} from '../../../src/stores/verbs/audit/audit-order.ts'
import type { VerbContext } from '../../../src/stores/verbs/context.ts'
import { migratedMemory } from '../../schema/dump-sqlite.ts'
import { numbersTo, stepsOnSqlite, usePostgresPlans } from '../plans.ts'

const history = 20_000

type Order = 'id' | 'seq'

function statementsOf(order: Order): Record<string, Sql> {
  const dialect = { auditOrder: raw(order), numbersAuditsLater: order === 'seq' }
  const context = { dialect } as VerbContext
  const list = (filter: AuditFilter, place: string | null = null): Sql => {
    const cursor = place === null ? null : Buffer.from(`after:${place}`).toString('base64url')
    return listAudit(context, filter, { limit: 10, cursor }).next().value as Sql
  }
  const after = (filter: AuditFilter): Sql => auditAfter(context, 5, filter, 10).next().value as Sql
  return {
    latest: latestAudit(context).next().value as Sql,
    'all, first page': list({}),
    'all, a later page': list({}, '5000'),
    'of a run': list({ runId: 'run_7' }),
    'of a run, a later page': list({ runId: 'run_7' }, '5000'),
    'of a webhook': list({ inboxId: 'inb_7' }),
    'of a delivery': list({ deliveryId: 'del_7' }),
    'of a delivery, a later page': list({ deliveryId: 'del_7' }, '5000'),
    'of a refused signature': list({ refused: 'signature' }),
    'of a rare type': list({ type: 'rare' }),
    'of a common type, a later page': list({ type: 'common' }, '5000'),
    'since lately': list({ since: history - 3 }),
    'until long ago': list({ until: 100 }),
    'a day': list({ since: 500, until: 600 }),
    'a day, a later page': list({ since: 500, until: 600 }, '550.550'),
    'after a place': after({}),
    'after a place, of a run': after({ runId: 'run_7' }),
    'after a place, of a type': after({ type: 'rare' }),
  }
}

const row = `i AS at, CASE i % 1000 WHEN 0 THEN 'rare' ELSE 'common' END AS type, 'a' AS actor,
  'run_' || i % 200 AS run_id, 'inb_' || i % 300 AS inbox_id,
  'del_' || i % 250 AS delivery_id, '{}' AS data,
  CASE WHEN i = 7 THEN 'signature' WHEN i % 10 = 0 THEN 'token' END AS refused`

describe('SQLite', () => {
  const db = migratedMemory()
  db.exec(`INSERT INTO audit (at, type, actor, run_id, inbox_id, delivery_id, data, refused)
    ${numbersTo(history)} SELECT ${row} FROM n`)
  afterAll(() => db.close())

  it.each(Object.entries(statementsOf('id')))('%s', (_name, statement) => {
    const steps = stepsOnSqlite(db, statement)
    // Without a condition, the plan is a scan of the table from its end.
    const walks = /^(SEARCH audit|SCAN audit$)/
    expect(steps.filter((step) => !walks.test(step))).toEqual([])
  })
})

describe('PostgreSQL', () => {
  const newest = history + 5
  const planOf = usePostgresPlans([
    `INSERT INTO audit (seq, at, type, actor, run_id, inbox_id, delivery_id, data, refused)
      SELECT i, ${row} FROM generate_series(1, ${history}) AS i`,
    `INSERT INTO audit (at, type, actor, run_id, inbox_id, delivery_id, data, refused)
      SELECT ${row} FROM generate_series(${history + 1}, ${newest}) AS i`,
  ])

  it('numbering the newest rows reads no other rows', async () => {
    const numbering = numberAudits()
    numbering.next()
    const nodes = await planOf(numbering.next([{ value: String(history) }]).value as Sql)
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan')
    expect(nodes.map((node) => node['Rows Removed by Filter'] ?? 0)).toEqual(nodes.map(() => 0))
    const rows = nodes.map((node) => node['Actual Rows'] ?? 0)
    expect(Math.max(...rows)).toBe(newest - history)
  })

  it.each(Object.entries(statementsOf('seq')))('%s', async (_name, statement) => {
    const nodes = await planOf(statement)
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Sort')
    expect(nodes.map((node) => node['Node Type'])).not.toContain('Seq Scan')
    expect(nodes.some((node) => node['Node Type'].startsWith('Index'))).toBe(true)
    expect(nodes.map((node) => node['Rows Removed by Filter'] ?? 0)).toEqual(nodes.map(() => 0))
  })
})
