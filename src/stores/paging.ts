/** Pages, newest first. A cursor is the last item's place, wrapped so that nobody builds on it. */
import { InvalidInputError } from '../errors.ts'
import type { Page, Paged } from '../store.ts'
import type { Sql } from './sql.ts'
import { raw, sql } from './sql.ts'

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

/** For what is ordered by two numbers, whose place is written `one.other`. */
export function pageAfterPair(page: Page, one: Sql, other: Sql): Sql {
  if (page.cursor === null) return sql`${other} IS NOT NULL`
  const [a = 0, b = 0] = decode(page.cursor, /^\d{1,15}\.\d{1,15}$/)
    .split('.')
    .map(Number)
  return sql`(${one}, ${other}) < (${a}, ${b})`
}

/** `found` holds one item more than the page when there is a next one. */
export function cutPage<T extends { readonly id: string | number }, U>(
  found: readonly T[],
  page: Page,
  view: (item: T) => U,
  placeOf: (item: T) => string | number = ({ id }) => id,
): Paged<U> {
  const items = found.slice(0, page.limit)
  const last = items.at(-1)
  const more = found.length > page.limit && last !== undefined
  return { items: items.map(view), nextCursor: more ? encode(placeOf(last)) : null }
}
