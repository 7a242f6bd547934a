/**
 * Gives pending runs to new holders, and answers with the steps that their rounds have so far. The
 * subjects must be locked.
 */
import type { LeaseGrant, Run } from '../../../domain/run.ts'
import { start } from '../../../domain/run.ts'
import type { LeaseAnswer, LeaseManyRequest } from '../../../store.ts'
import { LostRace } from '../../driver.ts'
import type { Verb } from '../../sql.ts'
import { join, padded, raw, sql } from '../../sql.ts'
import { insertDecisions } from '../../tables/audit-table.ts'
import { selectRuns, writeRuns } from '../../tables/run-table.ts'
import { selectStepsOfRound } from '../../tables/step-table.ts'
import { announce } from '../outbox/announce.ts'
import type { VerbContext } from '../context.ts'
import { endedForGrant, tokenRevoked } from '../tokens/tokens.ts'

export interface Granted {
  readonly run: Run
  readonly grant: LeaseGrant
}

/** A leased run, without its steps: an answer that is kept for its Idempotency-Key stays short. */
export interface Leased extends Omit<LeaseAnswer, 'steps'> {
  /** False if nobody held the run in this round before. */
  readonly mayHaveSteps: boolean
}

/** In the given order. */
export function* grantLeases(
  context: VerbContext,
  granted: readonly Granted[],
  actor: string,
): Verb<Leased[]> {
  const now = context.now()
  const decisions = granted.map(({ run, grant }) => {
    const { round, attempt } = run
    const asCaller = grant.holder === 'caller' && { as_caller: true }
    const data = { worker: grant.worker, round, attempt, ...asCaller }
    const audit = { type: 'run.leased', actor, runId: run.id, data } as const
    return { drafts: [audit], causeId: run.fence }
  })
  const fences = (yield* insertDecisions(decisions, now)).map(([fence = 0]) => fence)
  const leased = granted.map(({ run, grant }, i) => ({
    ...start(run, grant, now),
    fence: fences[i] ?? 0,
  }))
  // Sorted, as every lock of many: requests about steps keep several runs unchanged.
  const sorted = leased.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const written = yield* writeRuns(sorted, {
    was: granted.map(({ run }) => run),
    rowsFromJson: context.dialect.rowsFromJson,
  })
  const stored = new Map(written.map((run) => [run.id, run]))
  const runs = leased.map((run) => stored.get(run.id) ?? run)
  yield* announce(
    context,
    runs.map((run) => ({ run, repositoryId: run.scope, began: false, causeId: run.fence })),
  )
  return granted.map(({ run: before, grant }, i) => {
    const run = runs[i] ?? before
    return {
      run,
      lease: { secret: grant.secret, expiresAt: run.leaseExpiresAt ?? now },
      mayHaveSteps: before.fence !== before.claimFence,
    }
  })
}

/** Read after the lease was written: from then on only its holder can begin a step. */
export function* withSteps({ run, lease, mayHaveSteps }: Leased): Verb<LeaseAnswer> {
  const steps = mayHaveSteps ? yield* selectStepsOfRound(run.id, run.round) : []
  return { run, lease, steps }
}

/** Takes the runs that a person asked for first, then those that have waited longest. */
export function* leaseMany(
  context: VerbContext,
  { grants, leaseMs, type, askedOnly, lastIfAsked = false, actor }: LeaseManyRequest,
): Verb<LeaseAnswer[]> {
  if (grants.length === 0) return []
  if ((yield* endedForGrant(context, grants)).size > 0) throw tokenRevoked()
  const which = askedOnly ? raw('run.asked = 1') : raw('1 = 1')
  const rows = yield sql`SELECT run.id, run.asked
    FROM run JOIN subject ON subject.id = run.subject_id
    WHERE run.available_at IS NOT NULL AND run.type = ${type} AND ${which}
    ORDER BY run.type, run.asked DESC, run.available_at LIMIT ${grants.length}
    ${context.dialect.lockFree('subject')}`
  // They are in order, so if the last one was asked for, all were.
  const isOneTooMany = lastIfAsked && rows.length === grants.length && rows.at(-1)?.['asked'] !== 1
  const taken = isOneTooMany ? rows.slice(0, -1) : rows
  if (taken.length === 0) return []
  const ids = taken.map((row) => row['id'] as string)
  const found = new Map(
    (yield* selectRuns(sql`id IN (${join(padded(ids))})`)).map((run) => [run.id, run]),
  )
  // Others may have taken some of them just before their subjects were locked.
  const free = ids.flatMap((id) => {
    const run = found.get(id)
    return run?.availableAt == null ? [] : [run]
  })
  if (free.length === 0) throw new LostRace('the runs were taken')
  const granted = free.flatMap((run, i) => {
    const grant = grants[i]
    return grant === undefined ? [] : [{ run, grant: { ...grant, ms: leaseMs } }]
  })
  const answers: LeaseAnswer[] = []
  for (const leased of yield* grantLeases(context, granted, actor)) {
    answers.push(yield* withSteps(leased))
  }
  return answers
}
