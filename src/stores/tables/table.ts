/**
 * The columns of a table, listed once. Rows are read and written by the same list, so no column can
 * be forgotten on one side.
 */
import type { Param, Row } from '../sql.ts'
import { raw, Sql } from '../sql.ts'

type Value = string | number | boolean | null

/**
 * `flags` are stored as 0 and 1, `json` as text. The key is the first `keyFields` fields. `rare`
 * fields hardly ever change after the insert.
 */
interface Forms<T> {
  readonly keyFields?: number
  readonly rare?: readonly (keyof T & string)[]
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
   * `(column, …) = (?, …)` for every column but the key and the rare ones. Setting the key would
   * make the database check every reference to it. SQLite writes every index of a column that is
   * set, also if the value stays the same, so setting the rare ones would double the work.
   */
  assign(item: T): Sql
  readonly rareColumns: Sql
  /** The same for the rare ones; null if `row`, which has them, is equal to the item. */
  assignRare(item: T, row: Row): Sql | null
  /** Assigns every column but the key from the row `given`. */
  readonly assignGiven: Sql
  /** As one JSON text: objects with a value per column. */
  json(items: readonly T[]): string
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
  const columnsButKey = columns.slice(keyFields)
  const isRare = new Set<string>(forms.rare)
  const rare = columnsButKey.filter(({ field }) => isRare.has(field))
  const often = columnsButKey.filter(({ field }) => !isRare.has(field))
  const valueOf = (item: T, { field, form }: (typeof columns)[number]): Param => {
    if (form === 'json') return JSON.stringify(item[field])
    const value = item[field] as Value
    return typeof value === 'boolean' ? Number(value) : value
  }
  const assignment = (list: typeof columns): ((item: T) => Sql) => {
    const text = `(${listed(list).text}) = (${list.map(() => '?').join(', ')})`
    return (item) =>
      new Sql(
        text,
        list.map((column) => valueOf(item, column)),
      )
  }
  const assignAllRare = assignment(rare)
  const given = columnsButKey.map(({ column }) => `given.${column}`)
  return {
    columns: listed(columns),
    columnsButKey: listed(columnsButKey),
    rareColumns: listed(rare),
    overwrite: raw(columnsButKey.map(({ column }) => `${column} = excluded.${column}`).join(', ')),
    assign: assignment(often),
    assignRare: (item, row) =>
      rare.every((column) => row[column.column] === valueOf(item, column))
        ? null
        : assignAllRare(item),
    decode(row) {
      const item: Record<string, unknown> = {}
      for (const { field, column, form } of columns) {
        const value = row[column]
        item[field] =
          form === 'plain' ? value : form === 'flag' ? value === 1 : JSON.parse(value as string)
      }
      return item as T
    },
    assignGiven: raw(`(${listed(columnsButKey).text}) = (${given.join(', ')})`),
    json: (items) =>
      JSON.stringify(
        items.map((item) =>
          Object.fromEntries(columns.map((column) => [column.column, valueOf(item, column)])),
        ),
      ),
    encode: (item) => columns.map((column) => valueOf(item, column)),
  }
}
