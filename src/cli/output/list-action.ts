/** What every `list` command does: it asks for the items, page by page, and prints them. */
import { withOperations } from '../operations/open-operations.ts'
import type { Listed, Operations } from '../operations/operations.ts'
import { didYouMean, didYouMeanOrAll } from '../../validation/nearest.ts'
import { printList } from './list.ts'
import type { TableShape } from './table.ts'
import type { Parsed } from '../connection/connection.ts'
import { HoldfastError } from '../../errors.ts'
import { UsageError } from '../failure.ts'
import type { World } from '../world.ts'

export interface ListAction<Q extends { readonly cursor?: string | undefined }, T> {
  readonly query: Q
  readonly shape: TableShape<T>
  /** For the message "No runs.": `runs`. */
  readonly noun: string
  readonly page: (operations: Operations, query: Q) => Promise<Listed<T>>
  /** By filter. A value that is not known is accepted, because the store may have it. */
  readonly known?: { readonly [K in keyof Q]?: KnownValues }
}

/** The values of a filter that are suggested if nothing is found for another value. */
export interface KnownValues {
  /** What they are, in the plural. Null if there are too many to name all. */
  readonly kind: string | null
  readonly of: (operations: Operations) => Promise<readonly string[]> | readonly string[]
}

export async function listAction<Q extends { readonly cursor?: string | undefined }, T>(
  world: World,
  parsed: Parsed,
  { query, shape, noun, page, known = {} }: ListAction<Q, T>,
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
      suggestion: () => suggestionFor(operations, query, known),
      pageAt: (cursor) =>
        page(operations, { ...query, cursor }).catch((error: unknown) => {
          throw withFlag(error, cursor)
        }),
    }),
  )
}

/** The store and a server name the field of a request; a person typed a flag. */
function withFlag(error: unknown, cursor: string | undefined): unknown {
  if (!(error instanceof HoldfastError) || error.code !== 'invalid_cursor') return error
  const given = JSON.stringify(cursor)
  return new UsageError(
    `--cursor ${given} is not a cursor of Holdfast`,
    'Use the one that the page before printed. Leave it out for the first page.',
  )
}

/** The nearest known value, or all of them. Empty if every value of the query is known. */
async function suggestionFor<Q extends object>(
  operations: Operations,
  query: Q,
  known: { readonly [K in keyof Q]?: KnownValues },
): Promise<string> {
  for (const [field, value] of Object.entries(query) as [keyof Q, unknown][]) {
    const filter = known[field]
    if (filter === undefined || typeof value !== 'string') continue
    const values = await filter.of(operations)
    if (values.length === 0 || values.includes(value)) continue
    const { kind } = filter
    return kind === null ? didYouMean(value, values) : didYouMeanOrAll(value, values, kind)
  }
  return ''
}
