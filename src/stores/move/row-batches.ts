/** Cuts the rows of a table into batches, so that memory is bounded whatever is in the table. */
import type { TablePlan } from './copy-plan.ts'
import type { Key } from './copy-statements.ts'
import { keyOf, sizeOf, type Value } from './row-values.ts'
import type { SourceRow } from './source.ts'

const rowsMax = 1000
const bytesMax = 4 * 1024 * 1024

export interface RowBatch {
  readonly rows: readonly (readonly Value[])[]
  /** The key of its last row. */
  readonly last: Key
  readonly replaced: number
}

/** A batch has at least one row, even if that row is larger than a batch should be. */
export function* rowBatches(table: TablePlan, rows: Iterable<SourceRow>): Generator<RowBatch> {
  let batch: (readonly Value[])[] = []
  let bytes = 0
  let replaced = 0
  const cut = (): RowBatch => {
    const done = { rows: batch, last: keyOf(table, batch.at(-1) ?? []), replaced }
    batch = []
    bytes = 0
    replaced = 0
    return done
  }
  for (const row of rows) {
    batch.push(row.values)
    bytes += sizeOf(row.values)
    replaced += row.replaced
    if (batch.length >= rowsMax || bytes >= bytesMax) yield cut()
  }
  if (batch.length > 0) yield cut()
}
