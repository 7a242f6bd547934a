/** What holders and their replacements do: lease, heartbeat, release. */
import type { LossCode } from '../../domain/hold.ts'
import { lossOf } from '../../domain/hold.ts'
import type { Run } from '../../domain/run.ts'
import { makePending, renew, start } from '../../domain/run.ts'
import { ConflictError, runNotFound } from '../../errors.ts'
import { sameHash } from '../../secrets.ts'
import type { HeartbeatAnswer, HolderRequest, LeaseAnswer, LeaseRequest } from '../../store.ts'
import { LostRace } from '../driver.ts'
import type { Verb } from '../sql.ts'
import { join, sql } from '../sql.ts'
import { insertAudits } from '../tables/audit-table.ts'
import { selectRun, writeRuns } from '../tables/run-table.ts'
import type { VerbContext } from './context.ts'
import { lockRun } from './context.ts'

export function* leaseRun(context: VerbContext, request: LeaseRequest): Verb<LeaseAnswer | null> {
  const found =
    request.runId === null
      ? yield* lockCandidate(context, request.types)
      : (yield* lockRun(context, request.runId)).run
  if (found === null) return null
  const fits = request.types === null || request.types.includes(found.type)
  if (found.state !== 'pending' || found.availableAt === null || !fits) return null
  const now = context.now()
  const { actor, grant } = request
  const data = { worker: grant.worker, round: found.round, attempt: found.attempt }
  const [fence] = yield* insertAudits([{ type: 'run.leased', actor, runId: found.id, data }], now)
  const leased = { ...start(found, grant, now), fence: fence ?? found.fence }
  const [run] = yield* writeRuns([leased])
  if (run === undefined) throw new LostRace('the run was taken')
  return { run, lease: { secret: grant.secret, expiresAt: run.leaseExpiresAt ?? now } }
}

/** The run that has waited longest, its subject locked; passes over subjects others hold. */
function* lockCandidate(context: VerbContext, types: readonly string[] | null): Verb<Run | null> {
  const ofType = types === null ? sql`` : sql`AND run.type IN (${join(types)})`
  const [row] = yield sql`SELECT run.id FROM run JOIN subject ON subject.id = run.subject_id
    WHERE run.available_at IS NOT NULL ${ofType}
    ORDER BY run.available_at LIMIT 1 ${context.dialect.lockFree('subject')}`
  if (row === undefined) return null
  const run = yield* selectRun(row['id'] as string)
  if (run?.availableAt == null) throw new LostRace('the run was taken')
  return run
}

export function* heartbeatRun(context: VerbContext, request: HolderRequest): Verb<HeartbeatAnswer> {
  const run = yield* selectRun(request.runId)
  if (run === null) throw runNotFound(request.runId)
  checkHolder(run, request.leaseHash)
  const leaseMs = request.leaseMs ?? run.leaseMs
  const [renewed] = yield* writeRuns([renew(run, leaseMs, context.now())])
  return { expiresAt: renewed?.leaseExpiresAt ?? 0, fence: run.fence, leaseMs }
}

export function* releaseRun(context: VerbContext, request: HolderRequest): Verb<Run> {
  const { run } = yield* lockRun(context, request.runId)
  checkHolder(run, request.leaseHash)
  const now = context.now()
  const data = { worker: run.worker, round: run.round, attempt: run.attempt }
  yield* insertAudits([{ type: 'run.released', actor: request.actor, runId: run.id, data }], now)
  const [released] = yield* writeRuns([makePending(run, now)])
  return released ?? run
}

export function checkHolder(run: Run, leaseHash: string): void {
  const code = lossOf(run, run.leaseHash !== null && sameHash(run.leaseHash, leaseHash))
  if (code !== null) throw lossError(run, code)
}

const lossTexts: Record<LossCode, (run: Run) => string> = {
  superseded: (run) => `run ${run.id} was superseded by ${run.supersededBy ?? 'a newer head'}`,
  cancelled: (run) => `run ${run.id} was cancelled`,
  lease_lost: (run) => `run ${run.id} is not held by this lease (any more)`,
}

export function lossError(run: Run, code: LossCode): ConflictError {
  return new ConflictError(code, lossTexts[code](run), {
    hint: 'Stop working on it: nothing written with this lease will count.',
  })
}
