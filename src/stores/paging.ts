/** Pages, newest first. A cursor is the last item's id, wrapped so that nobody builds on it. */
import { InvalidInputError } from '../errors.ts'
import type { Page, Paged } from '../store.ts'
import type { Sql } from './sql.ts'
import { raw, sql } from './sql.ts'

function encode(id: string | number): string {
  return Buffer.from(`after:${id}`).toString('base64url')
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

export function pageAfterNumber(page: Page): Sql {
  if (page.cursor === null) return raw('1 = 1')
  return sql`id < ${Number(decode(page.cursor, /^\d{1,15}$/))}`
}

/** `found` holds one item more than the page when there is a next one. */
export function cutPage<T extends { readonly id: string | number }, U>(
  found: readonly T[],
  page: Page,
  view: (item: T) => U,
): Paged<U> {
  const items = found.slice(0, page.limit)
  const last = items.at(-1)
  const more = found.length > page.limit && last !== undefined
  return { items: items.map(view), nextCursor: more ? encode(last.id) : null }
}
