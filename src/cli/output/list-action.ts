/** What every `list` command does with its flags: asks, page by page, and prints. */
import { withOperations } from '../operations/open-operations.ts'
import type { Listed, Operations } from '../operations/operations.ts'
import { printList } from './list.ts'
import type { TableShape } from './table.ts'
import type { Parsed } from '../connection/connection.ts'
import type { World } from '../world.ts'

export interface ListAction<Q extends { readonly cursor?: string | undefined }, T> {
  readonly query: Q
  readonly shape: TableShape<T>
  /** What there is none of: `runs`. */
  readonly noun: string
  readonly page: (operations: Operations, query: Q) => Promise<Listed<T>>
}

export async function listAction<Q extends { readonly cursor?: string | undefined }, T>(
  world: World,
  parsed: Parsed,
  { query, shape, noun, page }: ListAction<Q, T>,
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
      pageAt: (cursor) => page(operations, { ...query, cursor }),
    }),
  )
}
