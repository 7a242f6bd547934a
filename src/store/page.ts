/** Port: how lists are read page by page. */
export interface Page {
  readonly limit: number
  readonly cursor: string | null
}

export interface Paged<T> {
  readonly items: readonly T[]
  readonly nextCursor: string | null
}
