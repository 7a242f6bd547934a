/**
 * Takes the next head check that is due: a head that the order of arrival decided and GitHub has to
 * confirm. Taking it postpones it, so that it is asked again if this process dies. GitHub's answer
 * removes it.
 */
import type { TakenHeadCheck } from '../../../store/catch-up-store.ts'
import type { Verb } from '../../sql.ts'
import { insertAudit } from '../../tables/audit-table.ts'
import { dropHeadCheck, dueHeadCheck, postponeHeadCheck } from '../../tables/head-check-table.ts'
import { selectRun } from '../../tables/run-table.ts'
import { selectSubject } from '../../tables/subject-table.ts'
import type { VerbContext } from '../context.ts'

/** The question right after the claim comes first; this one is for when that failed. */
export const firstCheckMs = 60_000
const pauseMsMax = 60 * 60_000
/** With pauses of up to an hour: about a day. */
const triesMax = 30

export function* takeHeadCheck(context: VerbContext): Verb<TakenHeadCheck | null> {
  const now = context.now()
  const check = yield* dueHeadCheck(now, context.dialect.lockFree('head_check'))
  if (check === null) return null
  const run = yield* selectRun(check.runId)
  const subject = run === null ? null : yield* selectSubject(run.subjectId)
  // Another head is current since: this question no longer matters.
  if (run === null || subject?.currentRunId !== run.id) {
    yield* dropHeadCheck(check)
    return { run: null, fence: check.fence, givenUp: false }
  }
  if (check.tries >= triesMax) {
    yield* dropHeadCheck(check)
    const data = { head_sha: run.headSha, tries: check.tries }
    yield* insertAudit(
      { type: 'run.head_unverified', actor: 'catch-up', runId: run.id, data },
      check.fence,
      now,
    )
    return { run, fence: check.fence, givenUp: true }
  }
  const pauseMs = Math.min(pauseMsMax, firstCheckMs * 2 ** check.tries)
  yield* postponeHeadCheck(check, now + pauseMs)
  // The answer will be newer than every decision until now.
  return { run, fence: Math.max(check.fence, run.fence), givenUp: false }
}
