/**
 * A table's columns in one order, once: rows are read into objects and objects written as rows by
 * the same list, so that a column cannot be forgotten on one side.
 */
import type { Param, Row, Sql } from '../sql.ts'
import { raw } from '../sql.ts'

type Value = string | number | boolean | null

export interface Table<T> {
  readonly columns: Sql
  /** For rows whose key the database gives. */
  readonly columnsButKey: Sql
  /** `column = excluded.column, …` for every column but the key. */
  readonly overwrite: Sql
  decode(row: Row): T
  encode(item: T): readonly Param[]
}

const snake = (field: string): string =>
  field.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`)

const listed = (columns: readonly { readonly column: string }[]): Sql =>
  raw(columns.map(({ column }) => column).join(', '))

/** `flags` are the boolean fields, stored as 0 and 1; the first field is the key. */
export function table<T extends object>(
  fields: readonly (keyof T & string)[],
  flags: readonly (keyof T & string)[] = [],
): Table<T> {
  const columns = fields.map((field) => ({ field, column: snake(field) }))
  const isFlag = new Set<string>(flags)
  return {
    columns: listed(columns),
    columnsButKey: listed(columns.slice(1)),
    overwrite: raw(
      columns
        .slice(1)
        .map(({ column }) => `${column} = excluded.${column}`)
        .join(', '),
    ),
    decode(row) {
      const item: Record<string, unknown> = {}
      for (const { field, column } of columns) {
        item[field] = isFlag.has(field) ? row[column] === 1 : row[column]
      }
      return item as T
    },
    encode(item) {
      return fields.map((field) => {
        const value = item[field] as Value
        return typeof value === 'boolean' ? Number(value) : value
      })
    },
  }
}
