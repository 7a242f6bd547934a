/**
 * What follows the end of a run on its subject, in the same transaction: a rerun that a person
 * asked for meanwhile, and the next run of the queue.
 */
import { withPrevious } from '../../../domain/new-run.ts'
import type { Run } from '../../../domain/run.ts'
import { isAhead, makePending, makeQueued, nextRound } from '../../../domain/run.ts'
import type { Verb } from '../../sql.ts'
import { insertAudit } from '../../tables/audit-table.ts'
import { pastRounds, roundKey } from '../../tables/past-round-table.ts'
import { selectFirstActive, writeRuns } from '../../tables/run-table.ts'
import { announce } from '../outbox/announce.ts'
import type { LockedRun, VerbContext } from '../context.ts'

export interface StoredEnd {
  /** What was locked, with the subject as it is stored now. */
  readonly before: LockedRun
  /** The run as it is stored now. */
  readonly ended: Run
  /** The audit row of its end. */
  readonly endId: number
}

/** Returns the runs as they are after all this, in order. */
export function* afterEnds(context: VerbContext, ends: readonly StoredEnd[]): Verb<Run[]> {
  // The end of a run that was itself queued does not start the next one.
  const ahead = ends.filter(({ before }) => isAhead(before.run))
  const next = yield* selectFirstActive(ahead.map(({ ended }) => ended.subjectId))
  const runs: Run[] = []
  for (const end of ends) {
    const follows = isAhead(end.before.run) ? next.get(end.ended.subjectId) : undefined
    runs.push(yield* afterEnd(context, end, follows ?? null))
  }
  return runs
}

function* afterEnd(
  context: VerbContext,
  { before, ended, endId }: StoredEnd,
  next: Run | null,
): Verb<Run> {
  const now = context.now()
  if (next !== null) {
    const data = { behind: ended.id, key: next.key }
    const audit = { type: 'run.dequeued', actor: 'system', runId: next.id, data } as const
    const causeId = yield* insertAudit(audit, endId, now)
    const [turn] = yield* writeRuns([makePending(next, now)], { was: [next] })
    const repositoryId = before.subject.scope
    // It gets no new fence, but it is shown from now on.
    if (turn !== undefined) {
      yield* announce(context, [{ run: turn, repositoryId, began: true, causeId }])
    }
  }
  if (!ended.rerunWanted) return ended
  const known = withPrevious(ended, before.subject)
  const again = yield* startWantedRerun(known, next !== null, endId, now)
  const repositoryId = before.subject.scope
  const causeId = again.claimFence
  yield* announce(context, [{ run: again, repositoryId, began: true, causeId }])
  return again
}

function* startWantedRerun(
  ended: Run,
  othersAreActive: boolean,
  endId: number,
  now: number,
): Verb<Run> {
  const past = yield* pastRounds([ended])
  const again = { ...nextRound(ended, past.get(roundKey(ended)) ?? 0), asked: true }
  const data = { reason: 'rerun', key: ended.key, round: again.round, attempt: 1, state: 'pending' }
  const audit = { type: 'run.claimed', actor: 'operator', runId: ended.id, data } as const
  const fence = yield* insertAudit(audit, endId, now)
  const pending = othersAreActive ? makeQueued(again) : makePending(again, now)
  const drawn = { ...pending, fence, claimFence: fence }
  const [stored] = yield* writeRuns([drawn])
  return stored ?? drawn
}
