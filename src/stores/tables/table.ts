/**
 * A table's columns in one order, once: rows are read into objects and objects written as rows by
 * the same list, so that a column cannot be forgotten on one side.
 */
import type { Param, Row, Sql } from '../sql.ts'
import { raw } from '../sql.ts'

type Value = string | number | boolean | null

/** `flags` are stored as 0 and 1, `json` as text that is never looked into. */
interface Forms<T> {
  readonly flags?: readonly (keyof T & string)[]
  readonly json?: readonly (keyof T & string)[]
}

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

/** The first field is the key. */
export function table<T extends object>(
  fields: readonly (keyof T & string)[],
  forms: Forms<T> = {},
): Table<T> {
  const columns = fields.map((field) => ({ field, column: snake(field) }))
  const isFlag = new Set<string>(forms.flags)
  const isJson = new Set<string>(forms.json)
  const read = (field: string, value: unknown): unknown => {
    if (isFlag.has(field)) return value === 1
    return isJson.has(field) ? (JSON.parse(value as string) as unknown) : value
  }
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
        item[field] = read(field, row[column])
      }
      return item as T
    },
    encode(item) {
      return fields.map((field) => {
        if (isJson.has(field)) return JSON.stringify(item[field])
        const value = item[field] as Value
        return typeof value === 'boolean' ? Number(value) : value
      })
    },
  }
}
