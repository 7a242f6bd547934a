/** Stores a status line about the work, from a run's holder or from an operator. */
import { withReport } from '../../../domain/outbox/anchor-view.ts'
import type { Run } from '../../../domain/run.ts'
import { isActive } from '../../../domain/run.ts'
import { ConflictError } from '../../../errors.ts'
import type { ReportRequest } from '../../../store.ts'
import type { Verb } from '../../sql.ts'
import { insertAudit } from '../../tables/audit-table.ts'
import { writeRuns } from '../../tables/run-table.ts'
import { announceAgain } from '../outbox/announce.ts'
import type { VerbContext } from '../context.ts'
import { lockRun } from '../context.ts'
import { checkHolder } from './hold-run.ts'

export function* reportStatus(context: VerbContext, request: ReportRequest): Verb<Run> {
  const { run, subject } = yield* lockRun(context, request.runId)
  if (request.leaseHash !== null) checkHolder(run, request.leaseHash, context.now())
  else if (!isActive(run)) {
    throw new ConflictError('not_active', `run ${run.id} has already ended: ${run.state}`, {
      hint: 'Only a pending, running or waiting run has a status to report.',
    })
  }
  const now = context.now()
  const { text, actor } = request
  const data = { status: text, round: run.round, attempt: run.attempt }
  const audit = { type: 'run.agent.status_reported', actor, runId: run.id, data } as const
  // A report without a lease is an operator's, so nothing in the run caused it.
  const causeId = yield* insertAudit(audit, request.leaseHash === null ? null : run.fence, now)
  const [stored] = yield* writeRuns([{ ...run, reports: withReport(run.reports, text, now) }], {
    was: [run],
  })
  const reported = stored ?? run
  yield* announceAgain(context, { subject }, reported, causeId, true)
  return reported
}
