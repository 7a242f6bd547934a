/** Which runs are at work because somebody wanted them done again: the row of their claim says. */
import type { Run } from '../../../domain/run.ts'
import { isActive } from '../../../domain/run.ts'
import type { Verb } from '../../sql.ts'
import { join, padded, sql } from '../../sql.ts'

export function* begunAgain(runs: readonly Run[]): Verb<ReadonlySet<string>> {
  const active = runs.filter(isActive)
  if (active.length === 0) return new Set()
  const fences = active.map(({ claimFence }) => claimFence)
  const rows = yield sql`SELECT run_id, data FROM audit WHERE id IN (${join(padded(fences))})`
  return new Set(rows.flatMap((row) => (isRerun(row['data']) ? [row['run_id'] as string] : [])))
}

/** A first claim under a new name is `new`, whoever asked for it. */
function isRerun(data: unknown): boolean {
  const { reason, rerun } = JSON.parse(data as string) as { reason?: unknown; rerun?: unknown }
  return rerun === true || reason === 'rerun'
}
