/**
 * What the end of a run sets off on its subject, in the same transaction: the rerun that a person
 * asked for meanwhile, and the next run of a queue.
 */
import type { Run } from '../../domain/run.ts'
import { makePending, makeQueued, nextRound } from '../../domain/run.ts'
import type { Verb } from '../sql.ts'
import { sql } from '../sql.ts'
import { insertAudits } from '../tables/audit-table.ts'
import { isActive, selectRuns, writeRuns } from '../tables/run-table.ts'
import type { VerbContext } from './context.ts'

/** `ended` is as stored; answers it as it is afterwards. The subject must be locked. */
export function* afterEnd(context: VerbContext, ended: Run): Verb<Run> {
  const now = context.now()
  const waiting = yield* selectRuns(
    sql`subject_id = ${ended.subjectId} AND ${isActive} ORDER BY created_at, id LIMIT 2`,
  )
  const next = waiting.find(({ id }) => id !== ended.id)
  if (next !== undefined && next.state === 'pending' && next.availableAt === null) {
    yield* writeRuns([makePending(next, now)])
  }
  return ended.rerunWanted ? yield* startWantedRerun(ended, next !== undefined, now) : ended
}

function* startWantedRerun(ended: Run, othersAreActive: boolean, now: number): Verb<Run> {
  const again = nextRound(ended)
  const [fence] = yield* insertAudits(
    [
      {
        type: 'run.claimed',
        actor: 'operator',
        runId: ended.id,
        data: { reason: 'rerun', key: ended.key, round: again.round, attempt: 1, state: 'pending' },
      },
    ],
    now,
  )
  const pending = othersAreActive ? makeQueued(again) : makePending(again, now)
  const [stored] = yield* writeRuns([{ ...pending, fence: fence ?? again.fence }])
  return stored ?? pending
}
