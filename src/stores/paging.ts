/**
 * Pages, newest first. A cursor is the place of the last item, encoded so that nobody depends on
 * its form. A page ends at its maximum of items or of bytes, whichever comes first, and has at
 * least one item. What is after it is not read into memory.
 */
import { InvalidInputError } from '../errors.ts'
import type { Page, Paged } from '../store.ts'
import type { Row, Sql, Verb } from './sql.ts'
import { join, raw, sql } from './sql.ts'

const pageBytesMax = 4 * 1024 * 1024

function encode(place: string | number): string {
  return Buffer.from(`after:${place}`).toString('base64url')
}

function decode(cursor: string, form: RegExp): string {
  const text = Buffer.from(cursor, 'base64url').toString()
  const id = text.startsWith('after:') ? text.slice('after:'.length) : ''
  if (!form.test(id)) {
    throw new InvalidInputError('invalid_cursor', 'cursor', 'this is not a cursor of ours', {
      hint: 'Pass the `next_cursor` of the previous page, or leave it out.',
    })
  }
  return id
}

export function pageAfterId(page: Page): Sql {
  if (page.cursor === null) return raw('1 = 1')
  return sql`id < ${decode(page.cursor, /^[a-z]{3}_[a-z0-9]{1,60}$/)}`
}

export function pageAfterNumber(page: Page, column: Sql = raw('id')): Sql {
  if (page.cursor === null) return sql`${column} IS NOT NULL`
  return sql`${column} < ${Number(decode(page.cursor, /^\d{1,15}$/))}`
}

/** For lists that are ordered by two numbers; a place is written `one.other`. */
export function pageAfterPair(page: Page, one: Sql, other: Sql): Sql {
  if (page.cursor === null) return sql`${other} IS NOT NULL`
  const [a = 0, b = 0] = decode(page.cursor, /^\d{1,15}\.\d{1,15}$/)
    .split('.')
    .map(Number)
  return sql`(${one}, ${other}) < (${a}, ${b})`
}

export interface RowsOfPage {
  readonly table: Sql
  /** Columns that may be large. */
  readonly large: readonly string[]
  /** WHERE and ORDER BY. */
  readonly inOrder: Sql
  readonly limit: number
}

/**
 * How many rows to read for a page and the row after it. The database finds this out from the sizes
 * alone, so that a thousand rows of a megabyte each are not read to be counted.
 */
export function* rowsToRead({ table, large, inOrder, limit }: RowsOfPage): Verb<number> {
  const sizes = large.map((column) => raw(`coalesce(octet_length(${column}), 0)`))
  const rows: readonly Row[] = yield sql`SELECT ${join(sizes, ' + ')} AS bytes FROM ${table}
    WHERE ${inOrder} LIMIT ${limit + 1}`
  let bytes = 0
  const last = rows.findIndex((row) => (bytes += Number(row['bytes'])) > pageBytesMax)
  return last === -1 ? limit + 1 : Math.max(last + 1, 2)
}

/** If there is a next page, `found` has at least one item more than this page. */
export function cutPage<T extends { readonly id: string | number }, U>(
  found: readonly T[],
  page: Page,
  view: (item: T) => U,
  placeOf: (item: T) => string | number = ({ id }) => id,
): Paged<U> {
  const items = found.slice(0, Math.min(page.limit, countWithin(found, pageBytesMax)))
  const last = items.at(-1)
  const more = found.length > items.length && last !== undefined
  return { items: items.map(view), nextCursor: more ? encode(placeOf(last)) : null }
}

/**
 * How many of the first items fit, at least one. Counted as JSON, the form in which they are sent.
 */
function countWithin(items: readonly unknown[], bytesMax: number): number {
  let bytes = 0
  const over = items.findIndex((item) => (bytes += jsonBytes(item)) > bytesMax)
  return over === -1 ? items.length : Math.max(over, 1)
}

const jsonBytes = (item: unknown): number => Buffer.byteLength(JSON.stringify(item))
