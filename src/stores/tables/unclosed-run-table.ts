/**
 * Table `unclosed_run`: ended runs whose own outputs are not all closed yet. The transaction that
 * ends the run writes the row, so a crash loses none.
 */
import type { Verb } from '../sql.ts'
import { inPieces, sql, tuples } from '../sql.ts'

export interface UnclosedRun {
  readonly runId: string
  /** The last delivery that was handled, in the order of ids; '' for none. */
  readonly closedTo: string
}

/** Only for runs whose subject this transaction has locked. */
export function* storeUnclosed(runs: readonly UnclosedRun[]): Verb<void> {
  for (const piece of inPieces(runs)) {
    const rows = tuples(piece.map(({ runId, closedTo }) => [runId, closedTo]))
    yield sql`INSERT INTO unclosed_run (run_id, closed_to) VALUES ${rows}
      ON CONFLICT (run_id) DO UPDATE SET closed_to = excluded.closed_to`
  }
}

export function* firstUnclosed(): Verb<string | null> {
  const [row] = yield sql`SELECT run_id FROM unclosed_run ORDER BY run_id LIMIT 1`
  return row === undefined ? null : (row['run_id'] as string)
}

/** Null when nothing of it is left to close. */
export function* selectUnclosed(runId: string): Verb<UnclosedRun | null> {
  const [row] = yield sql`SELECT closed_to FROM unclosed_run WHERE run_id = ${runId}`
  return row === undefined ? null : { runId, closedTo: row['closed_to'] as string }
}

export function* forgetUnclosed(runId: string): Verb<void> {
  yield sql`DELETE FROM unclosed_run WHERE run_id = ${runId}`
}
