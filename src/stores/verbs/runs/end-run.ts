/** How runs end that their holder does not complete: by a person, by the sweeper, or by a claim. */
import type { AuditDraft } from '../../../domain/audit.ts'
import type { Run } from '../../../domain/run.ts'
import { end, exhaust, isActive, tokenHasEnded } from '../../../domain/run.ts'
import { giveUp, loseHolder, sweep, type SweepResult } from '../../../domain/sweep.ts'
import { ConflictError } from '../../../errors.ts'
import type { Hold, HolderRequest } from '../../../store.ts'
import type { Verb } from '../../sql.ts'
import { sql } from '../../sql.ts'
import { insertAudit } from '../../tables/audit-table.ts'
import { writeRuns } from '../../tables/run-table.ts'
import { announceAgain } from '../outbox/announce.ts'
import type { LockedRun, VerbContext } from '../context.ts'
import { lockRun } from '../context.ts'
import { checkHolder, lossError } from './hold-run.ts'
import { storeEnd } from './store-ends.ts'

export function* cancelRun(context: VerbContext, runId: string, actor: string): Verb<Run> {
  const locked = yield* lockRun(context, runId)
  const { run } = locked
  if (!isActive(run)) {
    throw new ConflictError('not_active', `run ${runId} has already ended: ${run.state}`, {
      hint: 'Only a pending, running or waiting run can be cancelled.',
    })
  }
  return yield* endCancelled(context, locked, noReason(actor))
}

/** Answers the run as it is then. If somebody works on it by now, it stays as it is. */
export function* cancelPendingRun(context: VerbContext, runId: string, actor: string): Verb<Run> {
  const locked = yield* lockRun(context, runId)
  if (locked.run.state !== 'pending') return locked.run
  return yield* endCancelled(context, locked, noReason(actor))
}

const noReason = (actor: string): Cancellation => ({
  ...{ actor, code: null, text: null, data: {} },
  causeId: null,
})

export interface Cancellation {
  readonly actor: string
  /** Why, when no person asked for it. */
  readonly code: string | null
  readonly text: string | null
  readonly data: AuditDraft['data']
  /** What led to it; null when a person did. */
  readonly causeId: number | null
}

/** The run must be active. */
export function* endCancelled(
  context: VerbContext,
  locked: LockedRun,
  { actor, code, text, data, causeId }: Cancellation,
): Verb<Run> {
  const { run } = locked
  const ending = { state: 'cancelled', errorCode: code, errorText: text } as const
  const cancelled = end(run, ending, context.now())
  const why = text === null ? {} : { why: text }
  const auditData = { was: run.state, round: run.round, attempt: run.attempt, ...why, ...data }
  const audit = { type: 'run.cancelled', actor, runId: run.id, data: auditData } as const
  return yield* storeEnd(context, locked, cancelled, audit, causeId)
}

/** Null when the run is not due any more. */
export function* sweepRun(context: VerbContext, runId: string): Verb<Run | null> {
  const locked = yield* lockRun(context, runId)
  const { run } = locked
  const swept = sweep(run, context.moment())
  if (swept === null) return null
  const tokenEnded = tokenHasEnded(run, context.now())
  return yield* storeSwept(
    context,
    locked,
    swept,
    tokenEnded ? { why: 'its token was revoked or ran out' } : {},
  )
}

/**
 * The executor that has this hold is gone with its process. Null if somebody else has the run by
 * now.
 */
export function* takeOverExecutor(context: VerbContext, { runId, fence }: Hold): Verb<Run | null> {
  const locked = yield* lockRun(context, runId)
  const { run } = locked
  if (run.state !== 'running' || run.holder !== 'executor' || run.fence !== fence) return null
  const lost = loseHolder(run, context.now())
  return yield* storeSwept(context, locked, lost, { why: 'the process that worked on it ended' })
}

/**
 * An executor's work was cut off by a fault of its machine, such as a lost guard. That counts as an
 * attempt, as a lost lease does, but nobody has to wait for the end of the lease.
 */
export function* giveUpRun(context: VerbContext, request: HolderRequest): Verb<Run> {
  const locked = yield* lockRun(context, request.runId)
  const { run } = locked
  checkHolder(run, request.leaseHash, context.now())
  // A run that waits for a decision about its step has no work that could be cut off.
  if (run.state !== 'running') throw lossError(run, 'lease_lost')
  const given = giveUp(run, context.moment())
  const why = { why: 'the work was cut off' }
  return (yield* storeSwept(context, locked, given, why, request.actor)) ?? run
}

/**
 * The executors that held runs of a store before it was moved are gone. Their leases count as ended
 * before the move, which would otherwise extend them, and the next sweep gives the runs back.
 */
export function* endExecutorLeases(now: number): Verb<void> {
  yield sql`UPDATE run SET lease_expires_at = 0, due_at = ${now}, rev = rev + 1
    WHERE state = 'running' AND holder = 'executor'`
}

function* storeSwept(
  context: VerbContext,
  locked: LockedRun,
  swept: SweepResult,
  why: { readonly why?: string },
  actor = 'sweeper',
): Verb<Run | null> {
  const { run } = locked
  const runId = run.id
  const lost = { worker: run.worker, round: run.round, attempt: run.attempt }
  switch (swept.what) {
    case 'later': {
      yield* writeRuns([swept.run], { was: [run] })
      return null
    }
    case 'returned': {
      const data = { ...lost, ...why }
      const audit = { type: 'run.heartbeat_lost', actor, runId, data } as const
      const fence = yield* insertAudit(audit, run.fence, context.now())
      const [stored] = yield* writeRuns([{ ...swept.run, fence }], { was: [run] })
      yield* announceAgain(context, locked, stored ?? swept.run, fence)
      return stored ?? swept.run
    }
    case 'failed': {
      const data = { code: swept.run.errorCode, text: swept.run.errorText, ...lost }
      const audit = { type: 'run.failed', actor, runId, data } as const
      return yield* storeEnd(context, locked, swept.run, audit, run.fence)
    }
  }
}

/** A claim found that the lease was lost too often. The subject must be locked. */
export function* failExhausted(
  context: VerbContext,
  { run, subject }: LockedRun,
  actor: string,
): Verb<void> {
  const failed = exhaust(run, context.now())
  const data = { code: failed.errorCode, text: failed.errorText, round: run.round }
  const audit = { type: 'run.failed', actor, runId: run.id, data } as const
  yield* storeEnd(context, { run, subject }, failed, audit, run.fence)
}
