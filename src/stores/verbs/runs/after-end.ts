/**
 * What follows the end of a run on its subject, in the same transaction: a rerun that a person
 * asked for meanwhile, and the next run of the queue.
 */
import { withPrevious } from '../../../domain/new-run.ts'
import type { Run } from '../../../domain/run.ts'
import { isAhead, makePending, makeQueued, nextRound } from '../../../domain/run.ts'
import type { Verb } from '../../sql.ts'
import { sql } from '../../sql.ts'
import { insertAudit } from '../../tables/audit-table.ts'
import { pastRounds, roundKey } from '../../tables/past-round-table.ts'
import { isActive, selectRuns, writeRuns } from '../../tables/run-table.ts'
import { announce } from '../outbox/announce.ts'
import type { LockedRun, VerbContext } from '../context.ts'

/**
 * `before`: what was locked. `ended`: the run as it is stored now. `endId`: the audit row of its
 * end. Returns the run as it is after all this.
 */
export function* afterEnd(
  context: VerbContext,
  before: LockedRun,
  ended: Run,
  endId: number,
): Verb<Run> {
  const now = context.now()
  // The end of a run that was itself queued does not start the next one.
  const next = isAhead(before.run) ? yield* nextInQueue(ended.subjectId) : null
  if (next !== null) {
    const data = { behind: ended.id, key: next.key }
    const audit = { type: 'run.dequeued', actor: 'system', runId: next.id, data } as const
    const causeId = yield* insertAudit(audit, endId, now)
    const [turn] = yield* writeRuns([makePending(next, now)])
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

function* nextInQueue(subjectId: string): Verb<Run | null> {
  const [next] = yield* selectRuns(
    sql`subject_id = ${subjectId} AND ${isActive} ORDER BY fence LIMIT 1`,
  )
  return next ?? null
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
