/**
 * Decides a claim: whether this event leads to work, given what the store read under the subject's
 * lock. The rows of the table are tried in order, and the first that fits decides.
 *
 *   1  the key under another subject                 409 key_conflict
 *   2  a newer head on the subject                   stale-event
 *   3  same key, active                              duplicate (a person's rerun is remembered);
 *                                                    the claimer's own, whose answer was lost: its
 *                                                    first answer
 *   4  same key, lease lost                          reclaimed: attempt + 1 (a run whose attempts
 *                                                    are used up was failed before this decision)
 *   5  same key, succeeded, another key current      restored: no work, its result is shown again
 *   6  same key, succeeded                           duplicate, or rerun: round + 1
 *   7  same key, failed, cancelled or skipped        retry: round + 1, or duplicate
 *   8  same key, superseded, current again           returned: round + 1
 *   9  nothing for the key                           new, superseded-prior, queued, busy
 *
 * If the run of a current key was purged, its last end decides: row 6 if it succeeded, otherwise
 * row 7, for events that make a head.
 *
 * A claim that must not be queued (`mayQueue`) is busy where it would be, as for a type that skips.
 *
 * A claim that its type's rule refuses (`skipReason`) still makes its commit the head: a key
 * without a row is stored as skipped, and no work starts.
 *
 * Pure: no clock, no new ids, no SQL.
 */
import type { AuditDraft } from './audit.ts'
import type { Claim, ClaimReason, ClaimRefusal, ClaimFacts, ClaimDecision } from './claim-terms.ts'
import type { HeadRank } from './head-order.ts'
import { rankHead } from './head-order.ts'
import { newRun, withTrigger } from './new-run.ts'
import type { Moment, Run } from './run.ts'
import * as runs from './run.ts'
import { lastEndOf, type Subject } from './subject.ts'

export { claimReasons } from './claim-terms.ts'
export type * from './claim-terms.ts'

/** Everything that the rows of the table read. */
interface ClaimCase {
  readonly claim: Claim
  readonly facts: ClaimFacts
  readonly moment: Moment
  readonly rank: HeadRank
  readonly newRunId: string
}

export function decideClaim(
  claim: Claim,
  facts: ClaimFacts,
  moment: Moment,
  newRunId: string,
): ClaimDecision | ClaimRefusal {
  const { subject, same } = facts
  if (facts.foreign !== null) return { refused: 'key_conflict', currentRunId: facts.foreign.id }
  const isCurrent = subject.currentPair === claim.pair
  const rank = rankOf(claim, facts)
  if (claim.rerun && hasOrder(claim) && subject.currentPair !== null && !isCurrent) {
    const isBack = claim.headFromGitHub && rank.rank !== 'stale'
    if (!isBack) return { refused: 'not_current', currentRunId: subject.currentRunId }
  }
  const given: ClaimCase = { claim, facts, moment, rank, newRunId }
  if (rank.rank === 'stale') return decideStaleEvent(given)
  if (same !== null) return decideKnownKey(given, same)
  // The subject still knows the key of a purged run.
  if (isCurrent && !claim.rerun && !restartsPurgedKey(given)) return skip(given, 'duplicate', null)
  return decideNewKey(given)
}

function rankOf(claim: Claim, facts: ClaimFacts): HeadRank {
  const { subject, same, others } = facts
  if (!hasOrder(claim)) {
    const isCurrent = subject.currentPair === claim.pair
    return { rank: isCurrent ? 'current' : 'newer', orderAt: null, unclear: false }
  }
  const currentRun = others.find(({ id }) => id === subject.currentRunId)
  return rankHead({ ...claim, headMaking: makesHead(claim, facts) }, subject, {
    repeated: facts.eventSeen && same !== null,
    currentEventAt: currentRun?.lastEventAt ?? null,
  })
}

/** A repeated event made its head the first time; now it only mentions the head. */
function makesHead(claim: Claim, facts: ClaimFacts): boolean {
  return claim.headMaking && !facts.eventSeen
}

/** Heads of a pull request always have an order; jobs only if newer ones supersede older ones. */
function hasOrder(claim: Claim): boolean {
  return claim.policy.onNewer === 'supersede' || claim.pr !== null
}

/** Row 2. */
function decideStaleEvent(given: ClaimCase): ClaimDecision {
  const { same } = given.facts
  return same === null ? storeSkipped(given, 'stale-event') : skip(given, 'stale-event', same)
}

/** Rows 3 and 4, then 5 to 8. */
function decideKnownKey(given: ClaimCase, same: Run): ClaimDecision {
  if (runs.leaseIsLost(same, given.moment)) {
    return startWork(given, { ...withEvent(given, same), attempt: same.attempt + 1 }, 'reclaimed')
  }
  if (!runs.isActive(same)) return decideEndedKey(given, same)
  return isOwnGrant(given, same) ? answerAgain(given, same) : duplicateOfActive(given, same)
}

function isOwnGrant({ claim }: ClaimCase, same: Run): boolean {
  return claim.lease?.unanswered?.some(({ hash }) => hash === same.leaseHash) === true
}

/** Also for a person's rerun: this round is the one they asked for. */
function answerAgain(given: ClaimCase, same: Run): ClaimDecision {
  const skipped = skip(given, 'duplicate', same)
  const data = { reason: 'duplicate', key: given.claim.key, told_again: true }
  const audits = [audit(given, 'run.claim_skipped', same.id, data)]
  return { ...skipped, process: true, repeatsFirstAnswer: true, audits }
}

function duplicateOfActive(given: ClaimCase, same: Run): ClaimDecision {
  const skipped = skip(given, 'duplicate', same)
  if (!given.claim.rerun || same.rerunWanted) return skipped
  return {
    ...skipped,
    run: { ...(skipped.run ?? same), rerunWanted: true },
    changed: true,
    audits: [audit(given, 'operator.rerun_requested', same.id, { round: same.round })],
  }
}

function decideEndedKey(given: ClaimCase, same: Run): ClaimDecision {
  const { claim, facts } = given
  const headMovesBack = hasOrder(claim) && facts.subject.currentPair !== claim.pair
  if (same.state === 'succeeded' && headMovesBack && !claim.rerun) {
    return makeCurrent(given, withEvent(given, same), 'restored', false)
  }
  if (claim.skipReason !== null) {
    return headMovesBack
      ? skipByRule(given, nextRound(given, withEvent(given, same)), claim.skipReason)
      : skip(given, 'duplicate', same)
  }
  if (!claim.rerun && !startsNextRound(given, same)) return skip(given, 'duplicate', same)
  const triggered = withTrigger(withEvent(given, same), claim, facts.subject, given.rank)
  const next = nextRound(given, triggered)
  if (isBusy(given)) return skip(given, 'busy', same)
  if (mustQueue(given)) return queue(given, next)
  if (same.state === 'superseded') return startWork(given, next, 'returned')
  return startWork(given, next, same.state === 'succeeded' ? 'rerun' : 'retry')
}

const nextRound = ({ facts }: ClaimCase, run: Run): Run => runs.nextRound(run, facts.pastRound)

/** Without a person's request only a new event restarts a run, and never one that succeeded. */
function startsNextRound(given: ClaimCase, same: Run): boolean {
  if (same.state === 'succeeded') return false
  if (same.state === 'superseded') return true
  const { eventAt } = given.claim
  const older = eventAt !== null && same.lastEventAt !== null && eventAt < same.lastEventAt
  return !given.facts.eventSeen && !older
}

/** The same for a current key whose run was purged. */
function restartsPurgedKey({ claim, facts }: ClaimCase): boolean {
  const { currentEnded, headAt } = facts.subject
  if (currentEnded === 'succeeded' || claim.skipReason !== null) return false
  const older = claim.eventAt !== null && headAt !== null && claim.eventAt < headAt
  // An event that catch-up found makes no head, but it asks for the same.
  const reopens = claim.action === 'reopened' && !facts.eventSeen
  return (makesHead(claim, facts) || reopens) && !older
}

/** Another run is active, and this one must not wait for its end. */
function isBusy(given: ClaimCase): boolean {
  const { claim, facts } = given
  if (claim.policy.onNewer === 'skip') return facts.others.length > 0
  return !claim.mayQueue && mustQueue(given)
}

/** Queues behind the run that is active or may be leased; other queued runs do not count. */
function mustQueue({ claim, facts }: ClaimCase): boolean {
  return claim.policy.onNewer === 'queue' && facts.others.some(runs.isAhead)
}

/** Row 9. */
function decideNewKey(given: ClaimCase): ClaimDecision {
  const { claim, facts } = given
  const { others } = facts
  if (isBusy(given)) return storeSkipped(given, 'busy')
  const fresh = freshRun(given)
  if (claim.skipReason !== null) return skipByRule(given, fresh, claim.skipReason)
  if (mustQueue(given)) return queue(given, fresh)
  // A current key without a row was purged.
  const isPurged = facts.subject.currentPair === claim.pair
  if (isPurged) return startWork(given, fresh, claim.rerun ? 'rerun' : 'retry')
  return startWork(given, fresh, others.length > 0 ? 'superseded-prior' : 'new')
}

/** Does nothing but write an audit row, so that `why` can explain the skip later. */
function skip(given: ClaimCase, reason: ClaimReason, run: Run | null): ClaimDecision {
  const { facts } = given
  const after = run === null || reason === 'stale-event' ? run : withEvent(given, run)
  return completeDecision(given, {
    reason,
    process: false,
    run: after,
    drawsFence: false,
    changed: after !== facts.same,
    superseded: [],
    subject: subjectAfterSkip(given, reason, after),
    audits: [audit(given, 'run.claim_skipped', run?.id ?? null, { reason, key: given.claim.key })],
  })
}

/** A head that comes back while its run is still active is the current head again. */
function subjectAfterSkip(given: ClaimCase, reason: ClaimReason, run: Run | null): Subject {
  const { claim, facts, rank } = given
  if (rank.rank === 'current') return withOrder(given, facts.subject)
  const isHeadAgain = rank.rank === 'newer' && reason === 'duplicate' && hasOrder(claim)
  return isHeadAgain && run !== null && runs.isActive(run) ? asCurrent(given, run) : facts.subject
}

function storeSkipped(given: ClaimCase, reason: 'stale-event' | 'busy'): ClaimDecision {
  const ending = { state: 'skipped', outcome: 'skipped', errorCode: reason } as const
  // Kept for the case that GitHub names it as the head: the rule has already refused it.
  const errorText = given.claim.skipReason
  const run = runs.end(freshRun(given), { ...ending, errorText }, given.moment.now)
  return completeDecision(given, {
    reason,
    process: false,
    run: { ...run, orderAt: null },
    drawsFence: true,
    changed: true,
    superseded: [],
    subject: given.facts.subject,
    audits: [audit(given, 'run.skipped', run.id, { reason, key: run.key, round: run.round })],
  })
}

/** The new head needs no work, but it supersedes active runs of older heads. */
function skipByRule(given: ClaimCase, run: Run, why: string): ClaimDecision {
  const ending = { state: 'skipped', outcome: 'skipped', errorCode: 'skipped' } as const
  const skipped = runs.end(run, { ...ending, errorText: why }, given.moment.now)
  const taken = makeCurrent(given, skipped, 'skipped', false)
  const [, ...others] = taken.audits
  const first = audit(given, 'run.skipped', run.id, { reason: why, key: run.key, round: run.round })
  return { ...taken, audits: [first, ...others] }
}

function queue(given: ClaimCase, run: Run): ClaimDecision {
  const queued = runs.makeQueued(run)
  return completeDecision(given, {
    reason: 'queued',
    process: false,
    run: queued,
    drawsFence: true,
    changed: true,
    superseded: [],
    subject: asCurrent(given, queued),
    audits: [claimAudit(given, queued, 'queued')],
  })
}

function startWork(given: ClaimCase, run: Run, reason: ClaimReason): ClaimDecision {
  const { lease } = given.claim
  const { now } = given.moment
  const moved = lease === null ? runs.makePending(run, now) : runs.start(run, lease, now)
  return makeCurrent(given, moved, reason, true)
}

/** Makes the run the current one of its subject and supersedes the other active runs. */
function makeCurrent(
  given: ClaimCase,
  run: Run,
  reason: ClaimReason,
  process: boolean,
): ClaimDecision {
  const supersedes = given.claim.policy.onNewer === 'supersede'
  const superseded = supersedes
    ? given.facts.others.map((other) => runs.supersede(other, run.key, given.moment.now))
    : []
  const supersededAudits = superseded.map((old) =>
    audit(given, 'run.superseded', old.id, { by: run.key, by_run_id: run.id }),
  )
  return completeDecision(given, {
    reason,
    process,
    run,
    drawsFence: true,
    changed: true,
    superseded,
    subject: asCurrent(given, run),
    audits: [claimAudit(given, run, reason), ...supersededAudits],
  })
}

function completeDecision(given: ClaimCase, parts: Omit<ClaimDecision, 'unclear'>): ClaimDecision {
  const { subject } = parts
  const isHeadAgain = subject.currentRunId !== given.facts.subject.currentRunId
  const choseAHead =
    parts.process || isHeadAgain || ['restored', 'queued', 'skipped'].includes(parts.reason)
  const threadCreatedAt = subject.threadCreatedAt ?? given.claim.threadCreatedAt
  return {
    ...parts,
    subject: { ...subject, threadCreatedAt },
    unclear: given.rank.unclear && (choseAHead || given.rank.rank === 'stale'),
  }
}

function asCurrent(given: ClaimCase, run: Run): Subject {
  const { subject } = given.facts
  const headBefore = given.rank.rank === 'current' ? subject.headBefore : given.claim.beforeSha
  return withOrder(given, {
    ...subject,
    currentRunId: run.id,
    currentPair: run.pair,
    currentEnded: lastEndOf(run),
    headSha: run.headSha,
    headBefore,
  })
}

function withOrder(given: ClaimCase, subject: Subject): Subject {
  const { claim, rank } = given
  const headAt = rank.orderAt
  const floorAt = headAt === null ? subject.floorAt : Math.max(headAt, subject.floorAt ?? headAt)
  // A push that brings the current head back also names the commit that it replaced.
  const isBack = rank.rank === 'current' && claim.headMaking && claim.eventAt === headAt
  const headBefore = isBack ? (claim.beforeSha ?? subject.headBefore) : subject.headBefore
  return { ...subject, headAt, floorAt, headBefore }
}

function withEvent(given: ClaimCase, run: Run): Run {
  const { eventAt } = given.claim
  if (eventAt === null || (run.lastEventAt !== null && run.lastEventAt >= eventAt)) return run
  return { ...run, lastEventAt: eventAt }
}

function freshRun(given: ClaimCase): Run {
  const { claim, facts, moment, rank, newRunId } = given
  const fresh = {
    ...newRun(claim, facts.subject, newRunId, moment.now),
    round: facts.pastRound + 1,
  }
  return withTrigger(fresh, claim, facts.subject, rank)
}

/** A run that an executor takes right after its claim, in the same transaction. */
export interface TakenAtOnce {
  readonly run: Run
  /** As for every lease. Its id becomes the run's fence. */
  readonly audit: AuditDraft
}

/**
 * Null if the claim leaves no run for a lease. A reclaimed round may have steps, which only a lease
 * of its own brings to the executor.
 */
export function takenAtOnce(
  { executor }: Claim,
  { run, process, reason }: ClaimDecision,
  now: number,
): TakenAtOnce | null {
  if (executor === undefined || run === null || !process || reason === 'reclaimed') return null
  if (run.state !== 'pending' || run.availableAt === null) return null
  const { id: runId, round, attempt } = run
  const data = { worker: executor.worker, round, attempt }
  const actor = `executor:${executor.worker ?? ''}`
  return {
    run: runs.start(run, executor, now),
    audit: { type: 'run.leased', actor, runId, data },
  }
}

/** The audit row whose id becomes the run's fence. */
function claimAudit(given: ClaimCase, run: Run, reason: ClaimReason): AuditDraft {
  const type = reason === 'reclaimed' ? 'run.reclaimed' : 'run.claimed'
  const { key, round, attempt, state } = run
  const wanted = given.claim.rerun && { rerun: true }
  return audit(given, type, run.id, { reason, key, round, attempt, state, ...wanted })
}

function audit(
  given: ClaimCase,
  type: AuditDraft['type'],
  runId: string | null,
  data: AuditDraft['data'],
): AuditDraft {
  const { actor, webhookId, action } = given.claim
  const context = {
    ...(webhookId === null ? {} : { webhook_id: webhookId }),
    ...(action === null ? {} : { action }),
  }
  return { type, actor, runId, data: { ...data, ...context } }
}
