/**
 * Pages of a list, with the `link` header to the other pages. GitHub's rules: 30 items by default,
 * at most 100, and a page beyond the end is empty.
 */
import type { GitHubRequest } from './request.ts'

const perPageDefault = 30
const perPageMax = 100

export interface Page<T> {
  readonly items: readonly T[]
  readonly headers: Readonly<Record<string, string>>
}

export function pageOf<T>(request: GitHubRequest, all: readonly T[]): Page<T> {
  const perPage = Math.min(numberOf(request, 'per_page') ?? perPageDefault, perPageMax)
  const page = numberOf(request, 'page') ?? 1
  const last = Math.max(1, Math.ceil(all.length / perPage))
  const links = [
    ...(page > 1 ? [link(request, Math.min(page - 1, last), 'prev')] : []),
    ...(page < last ? [link(request, page + 1, 'next'), link(request, last, 'last')] : []),
    ...(page > 1 ? [link(request, 1, 'first')] : []),
  ]
  return {
    items: all.slice((page - 1) * perPage, page * perPage),
    headers: links.length === 0 ? {} : { link: links.join(', ') },
  }
}

/** A value that is not a whole number above zero is ignored. */
function numberOf({ query }: GitHubRequest, name: string): number | null {
  const text = query.get(name) ?? ''
  return /^\d{1,9}$/.test(text) && Number(text) > 0 ? Number(text) : null
}

function link(request: GitHubRequest, page: number, rel: string): string {
  const query = new URLSearchParams(request.query)
  query.set('page', String(page))
  return `<${request.apiUrl}${request.path}?${query.toString()}>; rel="${rel}"`
}
