/**
 * What is copied, and how: made from the catalogues of the two databases, so that a table that a
 * later migration adds is copied too.
 *
 * What must hold: every table and column of the source has its place in the target, and nothing in
 * the target stays empty by accident. The few exceptions are listed here with their reasons. A
 * difference that is not listed is an error before anything is copied.
 */
import { SetupError } from '../../errors.ts'

/** Tables whose rows are not copied one by one, and why. */
export const otherTables: Readonly<Record<string, string>> = {
  migration: 'each database lists its own migrations',
  store_state: 'the last transaction writes it, because it contains the record of the move too',
}

/**
 * Columns that only PostgreSQL has, and the column of the source that fills them. The order of
 * audit rows is a number of its own there; on SQLite the ids are in that order.
 */
const filledFrom: Readonly<Record<string, string>> = { 'audit.seq': 'id' }

/** By the declared type in SQLite: the types in PostgreSQL that hold the same values. */
const sameTypes: Readonly<Record<string, readonly string[]>> = {
  INTEGER: ['bigint', 'integer', 'smallint', 'boolean'],
  REAL: ['double precision'],
  TEXT: ['text'],
  BLOB: ['bytea'],
}

export interface SourceColumn {
  readonly table: string
  readonly name: string
  readonly type: string
  /** Its place in the primary key, from 1; 0 if it is not part of it. */
  readonly place: number
}

export interface TargetColumn {
  readonly table: string
  readonly name: string
  readonly type: string
  /** PostgreSQL gives the number of a new row. */
  readonly numbered: boolean
}

export interface PlannedColumn {
  readonly name: string
  /** In PostgreSQL. */
  readonly type: string
}

export interface TablePlan {
  readonly name: string
  readonly columns: readonly PlannedColumn[]
  /** Rows are read, and the copying continues, in the order of this key. */
  readonly key: readonly string[]
  /** Columns of the target that get the value of another column. */
  readonly filled: readonly { readonly column: string; readonly from: string }[]
  /** The column whose numbers PostgreSQL gives. */
  readonly numbered: string | null
}

/** In the order in which they are copied. */
export function planCopy(
  source: readonly SourceColumn[],
  target: readonly TargetColumn[],
): readonly TablePlan[] {
  const names = namesOf(source)
  const onlyThere = namesOf(target).filter((name) => !names.includes(name))
  if (onlyThere.length > 0) throw differs(`only the target has the table ${onlyThere.join(', ')}`)
  return names
    .filter((name) => !Object.hasOwn(otherTables, name))
    .map((name) =>
      planTable(
        name,
        source.filter(({ table }) => table === name),
        target.filter(({ table }) => table === name),
      ),
    )
}

const namesOf = (columns: readonly { readonly table: string }[]): string[] =>
  [...new Set(columns.map(({ table }) => table))].toSorted()

function planTable(
  name: string,
  source: readonly SourceColumn[],
  target: readonly TargetColumn[],
): TablePlan {
  if (target.length === 0) throw differs(`the target has no table ${name}`)
  const filled = target
    .filter(({ name: column }) => source.every((own) => own.name !== column))
    .map(({ name: column }) => ({ column, from: sourceOf(name, column) }))
  const keyColumns = source.filter(({ place }) => place > 0)
  if (keyColumns.length === 0) throw differs(`the table ${name} has no primary key`)
  return {
    name,
    columns: source.map((column) => planColumn(column, target)),
    key: keyColumns.toSorted((a, b) => a.place - b.place).map((column) => column.name),
    filled,
    numbered: target.find(({ numbered }) => numbered)?.name ?? null,
  }
}

function planColumn({ table, name, type }: SourceColumn, target: readonly TargetColumn[]) {
  const found = target.find((column) => column.name === name)
  if (found === undefined) throw differs(`the target has no column ${table}.${name}`)
  if (sameTypes[type]?.includes(found.type) !== true) {
    throw differs(`${table}.${name} is ${type} here and ${found.type} in the target`)
  }
  return { name, type: found.type }
}

function sourceOf(table: string, column: string): string {
  const from = filledFrom[`${table}.${column}`]
  if (from === undefined) throw differs(`only the target has the column ${table}.${column}`)
  return from
}

function differs(what: string): SetupError {
  return new SetupError('move_schema', `the two schemas differ: ${what}`, {
    hint: 'Were tables of Holdfast changed by hand? If not, report this as a bug.',
  })
}
