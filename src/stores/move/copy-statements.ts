/** The statements that read and write the rows of any table. Names come from the catalogues. */
import { join, raw, sql, type Sql } from '../sql.ts'
import type { TablePlan } from './copy-plan.ts'

export type Key = readonly (string | number)[]

const quoted = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ')

const columnsOf = ({ columns }: TablePlan): string => quoted(columns.map(({ name }) => name))

const filledOf = ({ filled }: TablePlan): string[] => filled.map(({ column }) => column)

/** From the source, in the order of the key. `after` is empty for the first row. */
export function selectFromSource(table: TablePlan, after: Key): Sql {
  const beyond = after.length === 0 ? raw('') : sql` WHERE ${compareKey(table, '>', after)}`
  return sql`SELECT ${raw(columnsOf(table))} FROM ${raw(`"${table.name}"`)}${beyond}
    ORDER BY ${raw(quoted(table.key))}`
}

/** From the target: after one key and up to another. The filled columns come last. */
export function selectFromTarget(table: TablePlan, after: Key, upTo: Key, limit: number): Sql {
  const bounds = [
    ...(after.length === 0 ? [] : [compareKey(table, '>', after)]),
    ...(upTo.length === 0 ? [] : [compareKey(table, '<=', upTo)]),
  ]
  const within = bounds.length === 0 ? raw('TRUE') : join(bounds, ' AND ')
  const all = quoted([...table.columns.map(({ name }) => name), ...filledOf(table)])
  return sql`SELECT ${raw(all)} FROM ${raw(`"${table.name}"`)} WHERE ${within}
    ORDER BY ${raw(quoted(table.key))} LIMIT ${limit}`
}

/** `rows`: see `rowsAsJson`. Answers how many rows were new. */
export function insertIntoTarget(table: TablePlan, rows: string): Sql {
  const { name, columns, filled } = table
  const own = columns.map((column) => column.name)
  const into = quoted([...own, ...filledOf(table)])
  const from = quoted([...own, ...filled.map((each) => each.from)])
  const types = columns.map((column) => `"${column.name}" ${column.type}`).join(', ')
  return sql`WITH added AS (
      INSERT INTO ${raw(`"${name}" (${into})`)}
      SELECT ${raw(from)} FROM json_to_recordset(${rows}::json) AS row(${raw(types)})
      ON CONFLICT DO NOTHING RETURNING 1
    ) SELECT count(*) AS added FROM added`
}

function compareKey({ key }: TablePlan, sign: '>' | '<=', than: Key): Sql {
  return sql`(${raw(quoted(key))}) ${raw(sign)} (${join(than)})`
}
