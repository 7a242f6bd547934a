/**
 * The columns of a table, listed once. Rows are read and written by the same list, so no column can
 * be forgotten on one side.
 */
import type { Param, Row } from '../sql.ts'
import { raw, Sql } from '../sql.ts'

type Value = string | number | boolean | null

/** `flags` are stored as 0 and 1, `json` as text. The key is the first `keyFields` fields. */
interface Forms<T> {
  readonly keyFields?: number
  readonly flags?: readonly (keyof T & string)[]
  readonly json?: readonly (keyof T & string)[]
}

export interface Table<T> {
  readonly columns: Sql
  /** For rows whose key the database creates. */
  readonly columnsButKey: Sql
  /** `column = excluded.column, …` for every column but the key. */
  readonly overwrite: Sql
  /**
   * `(column, …) = (?, …)` for every column but the key: setting the key would make the database
   * check every reference to it.
   */
  assign(item: T): Sql
  decode(row: Row): T
  encode(item: T): readonly Param[]
}

const snake = (field: string): string =>
  field.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`)

const listed = (columns: readonly { readonly column: string }[]): Sql =>
  raw(columns.map(({ column }) => column).join(', '))

/** The first field is the key, unless `forms` says that the key has more. */
export function table<T extends object>(
  fields: readonly (keyof T & string)[],
  forms: Forms<T> = {},
): Table<T> {
  const isFlag = new Set<string>(forms.flags)
  const isJson = new Set<string>(forms.json)
  const formOf = (field: string): 'flag' | 'json' | 'plain' =>
    isFlag.has(field) ? 'flag' : isJson.has(field) ? 'json' : 'plain'
  const columns = fields.map((field) => ({ field, column: snake(field), form: formOf(field) }))
  const { keyFields = 1 } = forms
  const columnsButKey = listed(columns.slice(keyFields))
  const assigned = `(${columnsButKey.text}) = (${fields
    .slice(keyFields)
    .map(() => '?')
    .join(', ')})`
  const encode = (item: T): Param[] =>
    columns.map(({ field, form }) => {
      if (form === 'json') return JSON.stringify(item[field])
      const value = item[field] as Value
      return typeof value === 'boolean' ? Number(value) : value
    })
  return {
    columns: listed(columns),
    columnsButKey,
    overwrite: raw(
      columns
        .slice(keyFields)
        .map(({ column }) => `${column} = excluded.${column}`)
        .join(', '),
    ),
    assign: (item) => new Sql(assigned, encode(item).slice(keyFields)),
    decode(row) {
      const item: Record<string, unknown> = {}
      for (const { field, column, form } of columns) {
        const value = row[column]
        item[field] =
          form === 'plain' ? value : form === 'flag' ? value === 1 : JSON.parse(value as string)
      }
      return item as T
    },
    encode,
  }
}
