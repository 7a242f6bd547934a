/** What all lists share: filters, pages, and the page of what there is none of yet. */
import type { Paging } from '../contract/answers.ts'
import type { Page } from '../store.ts'

/** The given filters only: a filter that is absent is not one that is undefined. */
export function given<T extends object>(filter: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(filter).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}

export const emptyPage = { items: [], next_cursor: null }

export const pageOf = ({ limit, cursor }: Paging): Page => ({ limit, cursor: cursor ?? null })
