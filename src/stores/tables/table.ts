/**
 * The columns of a table, listed once. Rows are read and written by the same list, so no column can
 * be forgotten on one side.
 */
import type { Param, Verb } from '../sql.ts'
import { InsertRows, raw, rowsAsJson, selectValues, Sql } from '../sql.ts'

type Value = string | number | boolean | null

/**
 * `flags` are stored as 0 and 1, `json` as text. The key is the first `keyFields` fields.
 */
interface Forms<T> {
  readonly keyFields?: number
  readonly flags?: readonly (keyof T & string)[]
  readonly json?: readonly (keyof T & string)[]
}

export interface Table<T> {
  readonly columns: Sql
  /** Inserts items. `rest` follows the rows. */
  insert(items: readonly T[], rest?: Sql): Sql
  /** For rows whose key the database creates. */
  readonly columnsButKey: Sql
  /** `column = excluded.column, …` for every column but the key. */
  readonly overwrite: Sql
  /**
   * `column = ?, …` for every column but the key, or only for those that differ from `was`.
   * Setting the key would make the database check every reference to it. SQLite writes every index
   * of a column that is set, also if the value stays the same, so setting all doubles the work.
   */
  assign(item: T, was?: T): Sql
  /** Assigns every column but the key from the row `given`. */
  readonly assignGiven: Sql
  /** As one JSON text: see `rowsAsJson`. */
  json(items: readonly T[]): string
  /** The items of a statement that answers `columns`. */
  read(statement: Sql): Verb<T[]>
  /** One item from its values in the order of `columns`. More values may follow them. */
  decode(values: readonly unknown[]): T
  encode(item: T): readonly Param[]
}

const snake = (field: string): string =>
  field.replaceAll(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`)

const listed = (columns: readonly { readonly column: string }[]): Sql =>
  raw(columns.map(({ column }) => column).join(', '))

/** The first field is the key, unless `forms` says that the key has more. */
export function table<T extends object>(
  name: string,
  fields: readonly (keyof T & string)[],
  forms: Forms<T> = {},
): Table<T> {
  const isFlag = new Set<string>(forms.flags)
  const isJson = new Set<string>(forms.json)
  const formOf = (field: string): 'flag' | 'json' | 'plain' =>
    isFlag.has(field) ? 'flag' : isJson.has(field) ? 'json' : 'plain'
  const columns = fields.map((field) => {
    const column = snake(field)
    return { field, column, form: formOf(field), set: `${column} = ?` }
  })
  const { keyFields = 1 } = forms
  const columnsButKey = columns.slice(keyFields)
  const valueOf = (item: T, { field, form }: (typeof columns)[number]): Param => {
    if (form === 'json') return JSON.stringify(item[field])
    const value = item[field] as Value
    return typeof value === 'boolean' ? Number(value) : value
  }
  const assign = (item: T, was?: T): Sql => {
    const values: Param[] = []
    let text = ''
    for (const column of columnsButKey) {
      if (was !== undefined && was[column.field] === item[column.field]) continue
      text += text === '' ? column.set : `, ${column.set}`
      values.push(valueOf(item, column))
    }
    return new Sql(text, values)
  }
  // A copy of an object that has all fields. One that gets them one by one is slow ever after.
  const empty = JSON.parse(`{${fields.map((field) => `"${field}":null`).join(',')}}`) as object
  const decode = (values: readonly unknown[]): T => {
    const item: Record<string, unknown> = { ...empty }
    let i = 0
    for (const { field, form } of columns) {
      const value = values[i++]
      item[field] =
        form === 'plain' ? value : form === 'flag' ? value === 1 : JSON.parse(value as string)
    }
    return item as T
  }
  const given = columnsButKey.map(({ column }) => `given.${column}`)
  return {
    columns: listed(columns),
    insert: (items, rest) =>
      new InsertRows(
        { table: name, columns: columns.map(({ column }) => column) },
        items.map((item) => columns.map((column) => valueOf(item, column))),
        rest,
      ),
    columnsButKey: listed(columnsButKey),
    overwrite: raw(columnsButKey.map(({ column }) => `${column} = excluded.${column}`).join(', ')),
    assign,
    *read(statement) {
      return (yield* selectValues(statement)).map(decode)
    },
    decode,
    assignGiven: raw(`(${listed(columnsButKey).text}) = (${given.join(', ')})`),
    json: (items) =>
      rowsAsJson(
        columns.map(({ column }) => column),
        items.map((item) => columns.map((column) => valueOf(item, column))),
      ),
    encode: (item) => columns.map((column) => valueOf(item, column)),
  }
}
