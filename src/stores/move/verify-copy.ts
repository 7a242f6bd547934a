/**
 * Compares every row of the source with the target, and makes a checksum of each table. Both sides
 * are read in batches and encoded in the same way. The source is frozen, so a row that was copied
 * by an earlier try and changed since is found too.
 */
import { createHash } from 'node:crypto'
import { SetupError } from '../../errors.ts'
import type { Driver } from '../driver.ts'
import type { Row, Verb } from '../sql.ts'
import type { TablePlan } from './copy-plan.ts'
import { selectFromTarget, type Key } from './copy-statements.ts'
import type { TableReport } from './marks.ts'
import { rowBatches } from './row-batches.ts'
import { keyOf, rowText, type Value } from './row-values.ts'
import type { MoveSource } from './source.ts'

export async function verifyTable(
  source: MoveSource,
  driver: Driver,
  table: TablePlan,
  onRows: (rows: number) => void,
): Promise<TableReport> {
  const [here, there] = [createHash('sha256'), createHash('sha256')]
  let after: Key = []
  let rows = 0
  for (const batch of rowBatches(table, source.rows(table, []))) {
    // A row that is not in the source moves the rows after it, so they differ.
    const found = await read(driver, table, after, batch.last, batch.rows.length)
    const [ours, theirs] = [batch.rows.map(sourceText(table)), found.map(targetText(table))]
    const at = ours.findIndex((text, i) => text !== theirs[i])
    if (at !== -1) throw different(table, keyOf(table, batch.rows[at] ?? []))
    for (const text of ours) here.update(`${text}\n`)
    for (const text of theirs) there.update(`${text}\n`)
    after = batch.last
    rows += batch.rows.length
    onRows(rows)
  }
  const [extra] = await read(driver, table, after, [], 1)
  if (extra !== undefined)
    throw different(
      table,
      table.key.map((name) => String(extra[name])),
    )
  const [sha256, copied] = [here.digest('hex'), there.digest('hex')]
  if (sha256 !== copied) throw new Error(`the checksums of ${table.name} differ, its rows do not`)
  return { table: table.name, rows, sha256 }
}

/** The checksum of the source alone, to compare it with what was verified before. */
export function reportSource(source: MoveSource, table: TablePlan): TableReport {
  const hash = createHash('sha256')
  const text = sourceText(table)
  let rows = 0
  for (const { values } of source.rows(table, [])) {
    hash.update(`${text(values)}\n`)
    rows++
  }
  return { table: table.name, rows, sha256: hash.digest('hex') }
}

async function read(
  driver: Driver,
  table: TablePlan,
  after: Key,
  upTo: Key,
  limit: number,
): Promise<readonly Row[]> {
  return await driver.read(function* (): Verb<readonly Row[]> {
    return yield selectFromTarget(table, after, upTo, limit)
  })
}

/** With the values that the filled columns of the target must have. */
function sourceText({ columns, filled }: TablePlan): (values: readonly Value[]) => string {
  const places = filled.map(({ from }) => columns.findIndex(({ name }) => name === from))
  return (values) => rowText([...values, ...places.map((place) => values[place])])
}

function targetText({ columns, filled }: TablePlan): (row: Row) => string {
  const names = [...columns.map(({ name }) => name), ...filled.map(({ column }) => column)]
  return (row) => rowText(names.map((name) => row[name]))
}

function different({ name, key }: TablePlan, values: Key): SetupError {
  const row = key.map((column, i) => `${column} ${String(values[i])}`).join(', ')
  return new SetupError(
    'move_mismatch',
    `the copy differs from the source at or before this row of ${name}: ${row}`,
    {
      hint:
        'One of the two was changed during the move. The source is as it was. Give this copy up ' +
        'with --undo, and move again while nothing uses either of them.',
    },
  )
}
