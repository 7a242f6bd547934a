/**
 * Writes to the audit how the command of a run ended, and in which state the run was then. The run
 * itself is not changed.
 */
import { runNotFound } from '../../../errors.ts'
import type { Verb } from '../../sql.ts'
import { insertAudit } from '../../tables/audit-table.ts'
import { selectRun } from '../../tables/run-table.ts'
import type { VerbContext } from '../context.ts'

export function* noteCommandEnd(
  context: VerbContext,
  runId: string,
  actor: string,
  data: Readonly<Record<string, unknown>>,
): Verb<void> {
  const run = yield* selectRun(runId)
  if (run === null) throw runNotFound(runId)
  const noted = { ...data, run_state: run.state }
  const audit = { type: 'run.command_ended', actor, runId, data: noted } as const
  yield* insertAudit(audit, run.fence, context.now())
}
