/** What holders of a run do: lease, heartbeat, release. */
import type { LossCode } from '../../../domain/hold.ts'
import { lossOf } from '../../../domain/hold.ts'
import type { Run } from '../../../domain/run.ts'
import { makePending, renew, tokenHasEnded } from '../../../domain/run.ts'
import type { TokenLimits } from '../../../domain/token-limits.ts'
import { ConflictError, runNotFound } from '../../../errors.ts'
import { sameHash } from '../../../secrets.ts'
import type {
  HeartbeatAnswer,
  HolderRequest,
  IdempotencyKey,
  LeaseAnswer,
  LeaseRequest,
} from '../../../store.ts'
import { LostRace } from '../../driver.ts'
import type { Sql, Verb } from '../../sql.ts'
import { raw, sql } from '../../sql.ts'
import { insertAudit } from '../../tables/audit-table.ts'
import { selectRun, writeRuns, type RunHold } from '../../tables/run-table.ts'
import { inRepositories } from '../tokens/within-limits.ts'
import { selectSubject } from '../../tables/subject-table.ts'
import { announceAgain } from '../outbox/announce.ts'
import type { VerbContext } from '../context.ts'
import { lockRun } from '../context.ts'
import { withIdempotencyKey } from '../idempotency.ts'
import { grantLeases, withSteps, type Leased } from './grant-leases.ts'
import { endedForGrant, tokenRevoked } from '../tokens/tokens.ts'

export function* leaseRun(context: VerbContext, request: LeaseRequest): Verb<Leased | null> {
  if ((yield* endedForGrant(context, [request.grant])).size > 0) throw tokenRevoked()
  const found =
    request.runId === null
      ? yield* lockCandidate(context, yield* typesToTake(request), request.within)
      : (yield* lockRun(context, request.runId)).run
  if (found === null) return null
  const types = typesWithin(request)
  const fits = types === null || types.includes(found.type)
  if (found.state !== 'pending' || found.availableAt === null || !fits) return null
  const grant = { ...request.grant, ms: request.leaseMs ?? found.leaseMs }
  const [leased] = yield* grantLeases(context, [{ run: found, grant }], request.actor)
  return leased ?? null
}

/** The same, with the steps of the round. A replayed answer has the steps of now. */
export function* leaseWithSteps(
  context: VerbContext,
  request: LeaseRequest,
  idempotencyKey: IdempotencyKey | null,
): Verb<LeaseAnswer | null> {
  const leased = yield* withIdempotencyKey(
    context,
    idempotencyKey,
    () => leaseRun(context, request),
    { holdOf: (answer) => answer?.run ?? null },
  )
  return leased === null ? null : yield* withSteps(leased)
}

/**
 * Locks the subject of the run that a person asked for, or else of the one that has waited longest;
 * skips subjects that others have locked.
 * Each type is one query along its index: one query for several types would read all waiting runs.
 */
function* lockCandidate(
  context: VerbContext,
  types: readonly string[] | null,
  within: TokenLimits | undefined,
): Verb<Run | null> {
  const reached = within === undefined ? raw('1 = 1') : inRepositories(within, raw('subject.scope'))
  if (types === null) {
    return yield* lockFirst(
      context,
      sql`run.available_at IS NOT NULL AND ${reached} ORDER BY run.asked DESC, run.available_at`,
    )
  }
  for (const type of yield* inTurn(types)) {
    const found = yield* lockFirst(
      context,
      sql`run.available_at IS NOT NULL AND run.type = ${type} AND ${reached}
        ORDER BY run.type, run.asked DESC, run.available_at`,
    )
    if (found !== null) return found
  }
  return null
}

function typesWithin({ types, within }: LeaseRequest): readonly string[] | null {
  const reached = within?.types ?? null
  if (reached === null || types === null) return types ?? reached
  return types.filter((type) => reached.includes(type))
}

/** Null: any. */
function* typesToTake(request: LeaseRequest): Verb<readonly string[] | null> {
  const { exceptTypes = [] } = request
  const types = typesWithin(request)
  return types !== null || exceptTypes.length === 0 ? types : yield* waitingTypesBut(exceptTypes)
}

/** It steps along the index from type to type, so the number of waiting runs does not matter. */
function* waitingTypesBut(except: readonly string[]): Verb<readonly string[]> {
  const rows = yield sql`WITH RECURSIVE walked (type) AS (
      SELECT min(type) FROM run WHERE available_at IS NOT NULL
      UNION ALL
      SELECT (SELECT min(run.type) FROM run
        WHERE available_at IS NOT NULL AND run.type > walked.type)
      FROM walked WHERE walked.type IS NOT NULL)
    SELECT type FROM walked WHERE type IS NOT NULL`
  return rows.map((row) => row['type'] as string).filter((type) => !except.includes(type))
}

/** No type waits for ever, in whatever order a worker names its types. */
function* inTurn(types: readonly string[]): Verb<readonly string[]> {
  return types.length < 2 ? types : yield* withRuns(types)
}

export function* availableTypes(
  types: readonly string[],
  allBut: readonly string[] | null,
  repositories: TokenLimits['repositories'],
): Verb<readonly string[]> {
  // The concatenation keeps the planner from using the index over all runs of a repository.
  const reached = inRepositories({ repositories, types: null }, raw("scope || ''"))
  if (allBut !== null && allBut.length > 0) {
    const others = yield* waitingTypesBut(allBut)
    return yield* withRuns([...types, ...others], reached)
  }
  const found = yield* withRuns(types, reached)
  if (allBut === null) return found
  const [row] = yield sql`SELECT type FROM run WHERE available_at IS NOT NULL AND ${reached}
    ORDER BY asked DESC, available_at LIMIT 1`
  return row === undefined ? found : [...new Set([...found, row['type'] as string])]
}

/** The types that have a run to lease, in the order in which they are leased. */
function* withRuns(types: readonly string[], reached = raw('1 = 1')): Verb<readonly string[]> {
  const waiting: { type: string; asked: number; since: number }[] = []
  for (const type of new Set(types)) {
    const [row] = yield sql`SELECT asked, available_at FROM run
      WHERE available_at IS NOT NULL AND type = ${type} AND ${reached}
      ORDER BY type, asked DESC, available_at LIMIT 1`
    if (row === undefined) continue
    waiting.push({ type, asked: Number(row['asked']), since: Number(row['available_at']) })
  }
  const first = waiting.toSorted((a, b) => b.asked - a.asked || a.since - b.since)
  return first.map(({ type }) => type)
}

function* lockFirst(context: VerbContext, whereInOrder: Sql): Verb<Run | null> {
  const [row] = yield sql`SELECT run.id FROM run JOIN subject ON subject.id = run.subject_id
    WHERE ${whereInOrder} LIMIT 1 ${context.dialect.lockFree('subject')}`
  if (row === undefined) return null
  const run = yield* selectRun(row['id'] as string)
  if (run?.availableAt == null) throw new LostRace('the run was taken')
  return run
}

export function* heartbeatRun(context: VerbContext, request: HolderRequest): Verb<HeartbeatAnswer> {
  const run = yield* selectRun(request.runId)
  if (run === null) throw runNotFound(request.runId)
  checkHolder(run, request.leaseHash, context.now())
  const leaseMs = request.leaseMs ?? run.leaseMs
  const [renewed] = yield* writeRuns([renew(run, leaseMs, context.now())], { was: [run] })
  return { expiresAt: renewed?.leaseExpiresAt ?? 0, fence: run.fence, leaseMs }
}

export function* releaseRun(context: VerbContext, request: HolderRequest): Verb<Run> {
  const { run } = yield* lockRun(context, request.runId)
  checkHolder(run, request.leaseHash, context.now())
  const now = context.now()
  const data = { worker: run.worker, round: run.round, attempt: run.attempt }
  const audit = { type: 'run.released', actor: request.actor, runId: run.id, data } as const
  const fence = yield* insertAudit(audit, run.fence, now)
  const [released] = yield* writeRuns([{ ...makePending(run, now), fence }], { was: [run] })
  yield* announceHolder(context, released ?? run)
  return released ?? run
}

function* announceHolder(context: VerbContext, run: Run): Verb<void> {
  const subject = yield* selectSubject(run.subjectId)
  if (subject !== null) yield* announceAgain(context, { subject }, run, run.fence)
}

export function checkHolder(run: RunHold, leaseHash: string, now: number): void {
  const code = lossOfLease(run, leaseHash, now)
  if (code !== null) throw lossError(run, code)
}

/** Null while this lease holds the run. */
export function lossOfLease(run: RunHold, leaseHash: string, now: number): LossCode | null {
  const holds = isSame(run.leaseHash, leaseHash) && !tokenHasEnded(run, now)
  return lossOf(run, holds, isSame(run.completedLeaseHash, leaseHash))
}

/** Whether the run has this lease, or had it before. */
export function knowsLease(run: RunHold, leaseHash: string): boolean {
  const hashes = [run.leaseHash, run.completedLeaseHash, ...run.pastLeaseHashes.split(' ')]
  return hashes.some((hash) => isSame(hash, leaseHash))
}

const isSame = (hash: string | null, leaseHash: string): boolean =>
  hash !== null && hash !== '' && sameHash(hash, leaseHash)

const lossTexts: Record<LossCode, (run: RunHold) => string> = {
  superseded: (run) => `run ${run.id} was superseded by ${run.supersededBy ?? 'a newer head'}`,
  cancelled: (run) => `run ${run.id} was cancelled`,
  ended: (run) => `run ${run.id} is already completed, and its result is stored`,
  lease_lost: (run) => `run ${run.id} is not held by this lease`,
}

export function lossError(run: RunHold, code: LossCode): ConflictError {
  return new ConflictError(code, lossTexts[code](run), {
    hint:
      code === 'ended'
        ? 'There is nothing left to do: later calls with this lease change nothing.'
        : 'Stop working on it: results sent with this lease are ignored.',
  })
}
