/** What every `list` command does: it asks for the items, page by page, and prints them. */
import { withOperations } from '../operations/open-operations.ts'
import type { Listed, Operations } from '../operations/operations.ts'
import { didYouMean } from '../../validation/nearest.ts'
import { printList } from './list.ts'
import type { TableShape } from './table.ts'
import type { Parsed } from '../connection/connection.ts'
import type { World } from '../world.ts'

export interface ListAction<Q extends { readonly cursor?: string | undefined }, T> {
  readonly query: Q
  readonly shape: TableShape<T>
  /** For the message "No runs.": `runs`. */
  readonly noun: string
  readonly page: (operations: Operations, query: Q) => Promise<Listed<T>>
  /**
   * The usual values of a filter. Others are accepted, because the store may have them. But if
   * nothing is found for one, the nearest usual value is suggested.
   */
  readonly usual?: { readonly [K in keyof Q]?: readonly string[] }
}

export async function listAction<Q extends { readonly cursor?: string | undefined }, T>(
  world: World,
  parsed: Parsed,
  { query, shape, noun, page, usual = {} }: ListAction<Q, T>,
): Promise<void> {
  await withOperations(world, parsed, (operations) =>
    printList({
      terminal: world.terminal,
      nowMs: world.clock.wallMs(),
      json: parsed['json'] === true,
      all: parsed['all'] === true,
      cursor: query.cursor,
      shape,
      noun,
      suggestion: suggestionFor(query, usual),
      pageAt: (cursor) => page(operations, { ...query, cursor }),
    }),
  )
}

/** Empty if every value is usual, or none is near. */
function suggestionFor<Q extends object>(
  query: Q,
  usual: { readonly [K in keyof Q]?: readonly string[] },
): string {
  const given = Object.entries(query) as [keyof Q, unknown][]
  const questions = given.map(([field, value]) => {
    const values = usual[field] ?? []
    return typeof value !== 'string' || values.includes(value) ? '' : didYouMean(value, values)
  })
  return questions.find((question) => question !== '') ?? ''
}
