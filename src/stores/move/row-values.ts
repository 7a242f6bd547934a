/**
 * The values of a row on their way from one database to the other.
 *
 * Text in PostgreSQL cannot contain NUL, and text in SQLite can. Nothing that Holdfast accepts from
 * outside has one, so such a text was written by something else. Its NULs are replaced, so that it
 * does not stop the move, and the replaced values are counted. Only in a primary key that would
 * make another row of it, so there it is an error.
 */
import { SetupError } from '../../errors.ts'
import type { TablePlan } from './copy-plan.ts'

export type Value = string | number | null | Uint8Array

const replacement = '\ufffd'

/** The row as the target can store it. */
export function storable(
  table: TablePlan,
  row: readonly Value[],
): { readonly values: readonly Value[]; readonly replaced: number } {
  if (!row.some(hasNul)) return { values: row, replaced: 0 }
  const inKey = table.columns.find(({ name }, i) => table.key.includes(name) && hasNul(row[i]))
  if (inKey !== undefined) throw nulInKey(table, inKey.name)
  return {
    values: row.map((value) => (hasNul(value) ? value.replaceAll('\0', replacement) : value)),
    replaced: row.filter(hasNul).length,
  }
}

const hasNul = (value: Value | undefined): value is string =>
  typeof value === 'string' && value.includes('\0')

function nulInKey({ name }: TablePlan, column: string): SetupError {
  return new SetupError('move_text', `a key in ${name}.${column} contains a NUL character`, {
    hint: 'PostgreSQL cannot store it. Holdfast makes no such keys: remove that row first.',
  })
}

export function keyOf({ columns, key }: TablePlan, values: readonly Value[]): (string | number)[] {
  return key.map((name) => {
    const value = values[columns.findIndex((column) => column.name === name)]
    if (typeof value === 'string' || typeof value === 'number') return value
    throw new Error(`the key ${name} is neither a text nor a number`)
  })
}

/** About how much room a row needs. */
export function sizeOf(values: readonly Value[]): number {
  return values.reduce<number>((bytes, value) => {
    if (value === null || typeof value === 'number') return bytes + 8
    return bytes + value.length
  }, 0)
}

/**
 * One text for each row, by which rows of the two databases are compared and from which checksums
 * are made: different rows have different texts.
 */
export function rowText(values: readonly unknown[]): string {
  return JSON.stringify(
    values.map((value) => {
      if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString('base64') }
      return typeof value === 'boolean' ? Number(value) : value
    }),
  )
}

/** The rows as the target reads them in one parameter. */
export function rowsAsJson({ columns }: TablePlan, rows: readonly (readonly Value[])[]): string {
  return JSON.stringify(
    rows.map((values) =>
      Object.fromEntries(columns.map(({ name }, i) => [name, jsonValue(values[i] ?? null)])),
    ),
  )
}

function jsonValue(value: Value): string | number | null {
  return value instanceof Uint8Array ? `\\x${Buffer.from(value).toString('hex')}` : value
}
