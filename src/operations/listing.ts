/** What all lists share: filters, pages, and an empty page. */
import type { Paging } from '../contract/answers.ts'
import type { Page } from '../store.ts'

/** Leaves out the filters that were not given. */
export function givenFilters<T extends object>(
  filter: T,
): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(filter).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

export const emptyPage = { items: [], next_cursor: null }

export const pageOf = ({ limit, cursor }: Paging): Page => ({ limit, cursor: cursor ?? null })
