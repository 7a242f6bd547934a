/** The plans that a database makes for the statements of our verbs. */
import type { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { openPostgresDriver, sessionOptions } from '../../src/stores/open-postgres.ts'
import { InsertRows, type Row, type Sql, type Verb } from '../../src/stores/sql.ts'
import { machine } from '../chaos/open-store.ts'
import { freshDatabase, type TestDatabase } from '../postgres/fresh-database.ts'

/** One row of an answer: by column, or as values if the statement asks for them. */
export type Answer = Row | readonly unknown[]

/**
 * Every statement of the verbs. Each statement finds no rows, or those of `rowsOf`, which gets its
 * number in the verb, from 1.
 */
export function statementsOf(
  verbs: Readonly<Record<string, Verb<unknown>>>,
  rowsOf: (statement: number) => readonly Answer[] = () => [],
): [string, Sql][] {
  return Object.entries(verbs).flatMap(([name, verb]) =>
    allOf(verb, rowsOf).map((statement, i): [string, Sql] => [`${name} (${i + 1})`, statement]),
  )
}

function allOf(verb: Verb<unknown>, rowsOf: (statement: number) => readonly Answer[]): Sql[] {
  const found: Sql[] = []
  let step = verb.next()
  while (step.done !== true) {
    found.push(withValues(step.value))
    step = verb.next(rowsOf(found.length) as readonly Row[])
  }
  return found
}

/** Whatever form its rows have, an insert looks up the same. */
function withValues(statement: Sql): Sql {
  return statement instanceof InsertRows ? (statement.pieces[0] ?? statement) : statement
}

/** A table `n(i)` that counts from 1 to `count`. */
export const numbersTo = (count: number): string =>
  `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})`

export function stepsOnSqlite(db: DatabaseSync, { text, params }: Sql): string[] {
  const plan = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...params)
  return plan.map(({ detail }) => String(detail))
}

export interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Rows Removed by Filter'?: number
  readonly 'Actual Rows'?: number
  readonly Plans?: readonly PlanNode[]
}

/**
 * A database for the surrounding tests, filled once. Returns how a statement was carried out there.
 */
export function usePostgresPlans(
  fill: readonly string[],
): (statement: Sql) => Promise<readonly PlanNode[]> {
  let database: TestDatabase
  let client: pg.Client
  beforeAll(async () => {
    database = await freshDatabase()
    await (await openPostgresDriver(database.url, machine)).close()
    client = new pg.Client({ connectionString: database.url, options: sessionOptions })
    await client.connect()
    for (const statement of fill) await client.query(statement)
    await client.query('ANALYZE')
  })
  afterAll(async () => {
    await client.end()
    await database.drop()
  })
  return async ({ text, params }) => {
    let count = 0
    const numbered = text.replaceAll('?', () => `$${++count}`)
    const { rows } = await client.query<{ 'QUERY PLAN': readonly [{ readonly Plan: PlanNode }] }>(
      `EXPLAIN (ANALYZE, FORMAT JSON) ${numbered}`,
      [...params],
    )
    return flat(rows[0]!['QUERY PLAN'][0].Plan)
  }
}

const flat = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(flat)]
