/**
 * Claims without a caller: a person's rerun of a run, and GitHub's answer that confirms the head.
 * Both are decided by the same table as every other claim.
 */
import type { Claim } from '../../../domain/claim.ts'
import { orderDoubtMs } from '../../../domain/head-order.ts'
import { pairOf } from '../../../domain/pair.ts'
import type { Run } from '../../../domain/run.ts'
import type { Subject } from '../../../domain/subject.ts'
import { ConflictError } from '../../../errors.ts'
import type { ClaimAnswer, ConfirmHeadAnswer, ConfirmedHead } from '../../../store.ts'
import { LostRace } from '../../driver.ts'
import type { Verb } from '../../sql.ts'
import { sql } from '../../sql.ts'
import { insertAudit } from '../../tables/audit-table.ts'
import { askedAt, forgetHeadCheck, isAskedAfter } from '../../tables/head-check-table.ts'
import { selectRuns, writeRuns } from '../../tables/run-table.ts'
import { selectSubject, writeSubjects } from '../../tables/subject-table.ts'
import { claimPlaced } from './claim-runs.ts'
import type { LockedRun, VerbContext } from '../context.ts'
import { lockRun } from '../context.ts'
import { firstCheckMs } from './take-head-check.ts'

export function* rerunRun(context: VerbContext, runId: string, actor: string): Verb<ClaimAnswer> {
  const { run, subject } = yield* lockRun(context, runId)
  return yield* claimOne(context, subject, { ...claimOf(run, subject, actor), rerun: true })
}

export function* confirmHead(
  context: VerbContext,
  confirmed: ConfirmedHead,
): Verb<ConfirmHeadAnswer> {
  const { run, subject } = yield* lockRun(context, confirmed.runId)
  // A newer decision asked again: our answer is older than that question.
  if (yield* isAskedAfter(run, confirmed.fence))
    return { result: 'unchanged', supersededRunIds: [] }
  const isOutdated = yield* wasClaimedAfter(run, confirmed.fence)
  const at = yield* timeOf(context, confirmed, { run, subject })
  if (at === 'too-early') return { result: 'unchanged', supersededRunIds: [] }
  if (!isOutdated) yield* forgetHeadCheck(run.id, confirmed.fence)
  const pair = pairOf(confirmed)
  const [runOnHead] = yield* selectRuns(sql`subject_id = ${subject.id}
    AND head_sha = ${confirmed.headSha} ORDER BY (pair = ${pair}) DESC, id DESC LIMIT 1`)
  // GitHub's base is the current one, or no run has it: a base moves with its branch, without an
  // event.
  const isOnBase = subject.currentPair === pair || runOnHead?.pair !== pair
  if (subject.headSha === confirmed.headSha && isOnBase) {
    return yield* keepHead(context, subject, confirmed)
  }
  // A newer claim came while we asked, so the answer says nothing about it. (A lease is not a
  // claim: a worker only holds what a claim decided.)
  if (subject.currentRunId !== run.id || isOutdated) {
    return { result: 'unchanged', supersededRunIds: [] }
  }
  // We do not know this head yet: its own event will arrive and decide.
  if (runOnHead === undefined) return { result: 'unknown-head', supersededRunIds: [] }
  const claim = {
    ...claimOf(runOnHead, subject, confirmed.actor),
    // After a merge of two names the row may be the one that lost its pair.
    pair: pairOf({ baseSha: runOnHead.baseSha ?? confirmed.baseSha, headSha: confirmed.headSha }),
    skipReason: runOnHead.errorCode === 'stale-event' ? runOnHead.errorText : null,
    headMaking: true,
    // Of two heads in one second, the one that GitHub names now came last.
    beforeSha: subject.headSha,
    eventAt: at,
    event: 'head_check',
    causeId: confirmed.fence,
  }
  const { supersededRunIds } = yield* claimOne(context, subject, claim)
  // The claim's reason does not show it: an active run is a `duplicate` and still becomes the head.
  const after = yield* selectSubject(subject.id)
  const result = after?.currentPair === claim.pair ? 'moved' : 'unchanged'
  return { result, supersededRunIds }
}

/**
 * GitHub names another head, with a time a little before ours. Either our time came from a fast
 * clock, or GitHub's answer is older than the event that made our head, as right after a push. So
 * the answer counts only when the question is old enough, and then with the time of our head.
 */
function* timeOf(
  context: VerbContext,
  { at, headSha }: ConfirmedHead,
  { run, subject }: LockedRun,
): Verb<number | 'too-early'> {
  const { floorAt } = subject
  if (floorAt === null || at >= floorAt || at < floorAt - orderDoubtMs) return at
  if (subject.headSha === headSha) return at
  const asked = yield* askedAt(run)
  // After the clock was set back the age may be negative.
  const isYoung = asked === null || Math.abs(context.now() - asked) < firstCheckMs
  return isYoung ? 'too-early' : floorAt
}

/** A claim that a rule skipped has the run's fence; a skip by a worker has none. */
function* wasClaimedAfter({ id, fence }: Run, after: number): Verb<boolean> {
  const rows = yield sql`SELECT id FROM audit WHERE run_id = ${id} AND id > ${after}
    AND (type IN ('run.claimed', 'run.reclaimed') OR (type = 'run.skipped' AND id = ${fence}))
    LIMIT 1`
  return rows.length > 0
}

function* keepHead(
  context: VerbContext,
  subject: Subject,
  { at, headSha, actor, fence }: ConfirmedHead,
): Verb<ConfirmHeadAnswer> {
  const headAt = Math.max(at, subject.headAt ?? at)
  const floorAt = Math.max(headAt, subject.floorAt ?? headAt)
  yield* writeSubjects([{ ...subject, headAt, floorAt }])
  const current = yield* selectRuns(sql`id = ${subject.currentRunId}`)
  yield* writeRuns(current.map((run) => ({ ...run, orderAt: headAt })))
  const data = { head_sha: headSha, order_at: headAt }
  yield* insertAudit(
    { type: 'run.head_verified', actor, runId: subject.currentRunId, data },
    fence,
    context.now(),
  )
  return { result: 'confirmed', supersededRunIds: [] }
}

function* claimOne(context: VerbContext, subject: Subject, claim: Claim): Verb<ClaimAnswer> {
  const answers = yield* claimPlaced(context, new Map([[0, { claim, subject }]]))
  const answer = answers.get(0)
  if (answer instanceof ConflictError) throw answer
  if (answer === undefined) throw new LostRace('the claim was not decided')
  return answer
}

/** A claim with the values of an existing run. It leaves the run pending and has no order. */
function claimOf(run: Run, subject: Subject, actor: string): Claim {
  return {
    type: run.type,
    policy: {
      onNewer: run.onNewer,
      attempts: run.attemptsMax,
      timeoutMs: run.timeoutMs,
      pendingTimeoutMs: run.pendingTimeoutMs,
      announcement: {
        anchorPer: run.anchorPer,
        statusContext: run.statusContext,
        checkName: run.checkName,
        locale: run.locale,
      },
    },
    repo: run.repo,
    repoId: null,
    subjectName: subject.name,
    key: run.key,
    pair: run.pair,
    pr: run.pr,
    baseSha: run.baseSha,
    headSha: run.headSha,
    beforeSha: null,
    threadCreatedAt: null,
    headMaking: false,
    headFromGitHub: false,
    eventAt: null,
    webhookId: null,
    event: null,
    action: null,
    sender: null,
    rerun: false,
    mayQueue: true,
    skipReason: null,
    input: run.input,
    lease: null,
    leaseMs: run.leaseMs,
    actor,
  }
}
