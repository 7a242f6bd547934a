/**
 * The claim: given what the store read under the subject's lock, decide once and for all whether
 * this event leads to work. Rows are tried in the order of the table below; the first that fits
 * decides.
 *
 *   1  the key under another subject                 409 key_conflict
 *   2  a newer head on the subject                   stale-event
 *   3  same key, active                              duplicate (a person's rerun is remembered);
 *                                                    the claimer's own, whose answer was lost: its
 *                                                    first answer
 *   4  same key, lease lost                          reclaimed: attempt + 1 (a run whose attempts
 *                                                    are used up was failed before this decision)
 *   5  same key, succeeded, another key current      restored: no work, its result shows again
 *   6  same key, succeeded                           duplicate, or rerun: round + 1
 *   7  same key, failed, cancelled or skipped        retry: round + 1, or duplicate
 *   8  same key, superseded, current again           returned: round + 1
 *   9  nothing for the key                           new, superseded-prior, queued, busy
 *
 * A current key whose run was purged is decided by how it last ended: succeeded is row 6, anything
 * else row 7, for events that make a head.
 *
 * A claim that a rule of its type says no to (`skipReason`) makes its head the head all the same:
 * a key without a row is stored as skipped, and nothing is worked on.
 *
 * Pure: no clock, no ids made here, no SQL.
 */
import type { AuditDraft } from './audit.ts'
import type { Claim, ClaimReason, ClaimRefusal, ClaimSight, ClaimVerdict } from './claim-terms.ts'
import type { HeadRank } from './head-order.ts'
import { rankHead } from './head-order.ts'
import { newRun, withTrigger } from './new-run.ts'
import type { Moment, Run } from './run.ts'
import * as runs from './run.ts'
import { lastEndOf, type Subject } from './subject.ts'

export { claimReasons } from './claim-terms.ts'
export type * from './claim-terms.ts'

/** Everything the rows of the table look at. */
interface Scene {
  readonly claim: Claim
  readonly sight: ClaimSight
  readonly moment: Moment
  readonly rank: HeadRank
  readonly newRunId: string
}

export function decideClaim(
  claim: Claim,
  sight: ClaimSight,
  moment: Moment,
  newRunId: string,
): ClaimVerdict | ClaimRefusal {
  const { subject, same } = sight
  if (sight.foreign !== null) return { refused: 'key_conflict', currentRunId: sight.foreign.id }
  const isCurrent = subject.currentPair === claim.pair
  const rank = rankOf(claim, sight)
  if (claim.rerun && hasOrder(claim) && subject.currentPair !== null && !isCurrent) {
    const isBack = claim.headFromGitHub && rank.rank !== 'stale'
    if (!isBack) return { refused: 'not_current', currentRunId: subject.currentRunId }
  }
  const scene: Scene = { claim, sight, moment, rank, newRunId }
  if (rank.rank === 'stale') return staleEvent(scene)
  if (same !== null) return knownKey(scene, same)
  // A purged run's key is still known to its subject.
  if (isCurrent && !claim.rerun && !asksForPurged(scene)) return skip(scene, 'duplicate', null)
  return newKey(scene)
}

function rankOf(claim: Claim, sight: ClaimSight): HeadRank {
  const { subject, same, others } = sight
  if (!hasOrder(claim)) {
    const isCurrent = subject.currentPair === claim.pair
    return { rank: isCurrent ? 'current' : 'newer', orderAt: null, unclear: false }
  }
  const atWork = others.find(({ id }) => id === subject.currentRunId)
  return rankHead({ ...claim, headMaking: makesHead(claim, sight) }, subject, {
    repeated: sight.eventSeen && same !== null,
    currentHeardAt: atWork?.lastEventAt ?? null,
  })
}

/** An event that was decided on before made its head then; sent again, it only mentions it. */
function makesHead(claim: Claim, sight: ClaimSight): boolean {
  return claim.headMaking && !sight.eventSeen
}

/** Heads of a pull request have an order whatever the policy; jobs only where they supersede. */
function hasOrder(claim: Claim): boolean {
  return claim.policy.onNewer === 'supersede' || claim.pr !== null
}

/** Row 2. */
function staleEvent(scene: Scene): ClaimVerdict {
  const { same } = scene.sight
  return same === null ? storeSkipped(scene, 'stale-event') : skip(scene, 'stale-event', same)
}

/** Rows 3 and 4, then 5 to 8. */
function knownKey(scene: Scene, same: Run): ClaimVerdict {
  if (runs.leaseIsLost(same, scene.moment)) {
    return work(scene, { ...withEvent(scene, same), attempt: same.attempt + 1 }, 'reclaimed')
  }
  if (!runs.isActive(same)) return endedKey(scene, same)
  return isOwnGrant(scene, same) ? tellAgain(scene, same) : duplicateOfActive(scene, same)
}

function isOwnGrant({ claim }: Scene, same: Run): boolean {
  return claim.lease?.unanswered?.some(({ hash }) => hash === same.leaseHash) === true
}

/** Also a person's rerun: it is this round that they asked for. */
function tellAgain(scene: Scene, same: Run): ClaimVerdict {
  const skipped = skip(scene, 'duplicate', same)
  const data = { reason: 'duplicate', key: scene.claim.key, told_again: true }
  const audits = [audit(scene, 'run.claim_skipped', same.id, data)]
  return { ...skipped, process: true, isToldAgain: true, audits }
}

function duplicateOfActive(scene: Scene, same: Run): ClaimVerdict {
  const skipped = skip(scene, 'duplicate', same)
  if (!scene.claim.rerun || same.rerunWanted) return skipped
  return {
    ...skipped,
    run: { ...(skipped.run ?? same), rerunWanted: true },
    changed: true,
    audits: [audit(scene, 'operator.rerun_requested', same.id, { round: same.round })],
  }
}

function endedKey(scene: Scene, same: Run): ClaimVerdict {
  const { claim, sight } = scene
  const headMovesBack = hasOrder(claim) && sight.subject.currentPair !== claim.pair
  if (same.state === 'succeeded' && headMovesBack && !claim.rerun) {
    return take(scene, withEvent(scene, same), 'restored', false)
  }
  if (claim.skipReason !== null) {
    return headMovesBack
      ? skipByRule(scene, nextRound(scene, withEvent(scene, same)), claim.skipReason)
      : skip(scene, 'duplicate', same)
  }
  if (!claim.rerun && !asksForMore(scene, same)) return skip(scene, 'duplicate', same)
  const triggered = withTrigger(withEvent(scene, same), claim, sight.subject, scene.rank)
  const next = nextRound(scene, triggered)
  if (mustQueue(scene)) return queue(scene, next)
  if (sight.others.length > 0 && claim.policy.onNewer === 'skip') return skip(scene, 'busy', same)
  if (same.state === 'superseded') return work(scene, next, 'returned')
  return work(scene, next, same.state === 'succeeded' ? 'rerun' : 'retry')
}

const nextRound = ({ sight }: Scene, run: Run): Run => runs.nextRound(run, sight.pastRound)

/** Without a person's word only a new event starts ended work again, and never finished work. */
function asksForMore(scene: Scene, same: Run): boolean {
  if (same.state === 'succeeded') return false
  if (same.state === 'superseded') return true
  const { eventAt } = scene.claim
  const older = eventAt !== null && same.lastEventAt !== null && eventAt < same.lastEventAt
  return !scene.sight.eventSeen && !older
}

/** The same of a current key whose run was purged: what did not succeed is not done for ever. */
function asksForPurged({ claim, sight }: Scene): boolean {
  const { currentEnded, headAt } = sight.subject
  if (currentEnded === 'succeeded' || claim.skipReason !== null) return false
  const older = claim.eventAt !== null && headAt !== null && claim.eventAt < headAt
  // One that only catching up has seen makes no head, but it is the same wish.
  const reopens = claim.action === 'reopened' && !sight.eventSeen
  return (makesHead(claim, sight) || reopens) && !older
}

/** Behind the one that works or may be leased; runs that queue themselves are not in the way. */
function mustQueue({ claim, sight }: Scene): boolean {
  return claim.policy.onNewer === 'queue' && sight.others.some(runs.isAhead)
}

/** Row 9. */
function newKey(scene: Scene): ClaimVerdict {
  const { claim, sight } = scene
  const { others } = sight
  if (others.length > 0 && claim.policy.onNewer === 'skip') return storeSkipped(scene, 'busy')
  const fresh = freshRun(scene)
  if (claim.skipReason !== null) return skipByRule(scene, fresh, claim.skipReason)
  if (mustQueue(scene)) return queue(scene, fresh)
  // Only a purged row can be asked for again without being there.
  const isPurged = sight.subject.currentPair === claim.pair
  if (isPurged) return work(scene, fresh, claim.rerun ? 'rerun' : 'retry')
  return work(scene, fresh, others.length > 0 ? 'superseded-prior' : 'new')
}

/** Nothing is done, but it is said: a skip without a trace could not be explained later. */
function skip(scene: Scene, reason: ClaimReason, run: Run | null): ClaimVerdict {
  const { sight } = scene
  const after = run === null || reason === 'stale-event' ? run : withEvent(scene, run)
  return verdict(scene, {
    reason,
    process: false,
    run: after,
    drawsFence: false,
    changed: after !== sight.same,
    superseded: [],
    subject: subjectAfterSkip(scene, reason, after),
    audits: [audit(scene, 'run.claim_skipped', run?.id ?? null, { reason, key: scene.claim.key })],
  })
}

/** A head that came back while its run is still queued or worked on is the head again. */
function subjectAfterSkip(scene: Scene, reason: ClaimReason, run: Run | null): Subject {
  const { claim, sight, rank } = scene
  if (rank.rank === 'current') return withOrder(scene, sight.subject)
  const isHeadAgain = rank.rank === 'newer' && reason === 'duplicate' && hasOrder(claim)
  return isHeadAgain && run !== null && runs.isActive(run) ? asCurrent(scene, run) : sight.subject
}

function storeSkipped(scene: Scene, reason: 'stale-event' | 'busy'): ClaimVerdict {
  const ending = { state: 'skipped', outcome: 'skipped', errorCode: reason } as const
  // Should it turn out to be the head, its rule has said no to it already.
  const errorText = scene.claim.skipReason
  const run = runs.end(freshRun(scene), { ...ending, errorText }, scene.moment.now)
  return verdict(scene, {
    reason,
    process: false,
    run: { ...run, orderAt: null },
    drawsFence: true,
    changed: true,
    superseded: [],
    subject: scene.sight.subject,
    audits: [audit(scene, 'run.skipped', run.id, { reason, key: run.key, round: run.round })],
  })
}

/** The head has moved on to something that wants no work; what was active is of an older head. */
function skipByRule(scene: Scene, run: Run, why: string): ClaimVerdict {
  const ending = { state: 'skipped', outcome: 'skipped', errorCode: 'skipped' } as const
  const skipped = runs.end(run, { ...ending, errorText: why }, scene.moment.now)
  const taken = take(scene, skipped, 'skipped', false)
  const [, ...told] = taken.audits
  const first = audit(scene, 'run.skipped', run.id, { reason: why, key: run.key, round: run.round })
  return { ...taken, audits: [first, ...told] }
}

function queue(scene: Scene, run: Run): ClaimVerdict {
  const queued = runs.makeQueued(run)
  return verdict(scene, {
    reason: 'queued',
    process: false,
    run: queued,
    drawsFence: true,
    changed: true,
    superseded: [],
    subject: asCurrent(scene, queued),
    audits: [claimAudit(scene, queued, 'queued')],
  })
}

function work(scene: Scene, run: Run, reason: ClaimReason): ClaimVerdict {
  const { lease } = scene.claim
  const { now } = scene.moment
  const moved = lease === null ? runs.makePending(run, now) : runs.start(run, lease, now)
  return take(scene, moved, reason, true)
}

/** Makes the run the subject's current one and supersedes what else is active. */
function take(scene: Scene, run: Run, reason: ClaimReason, process: boolean): ClaimVerdict {
  const supersedes = scene.claim.policy.onNewer === 'supersede'
  const superseded = supersedes
    ? scene.sight.others.map((other) => runs.supersede(other, run.key, scene.moment.now))
    : []
  const told = superseded.map((old) =>
    audit(scene, 'run.superseded', old.id, { by: run.key, by_run_id: run.id }),
  )
  return verdict(scene, {
    reason,
    process,
    run,
    drawsFence: true,
    changed: true,
    superseded,
    subject: asCurrent(scene, run),
    audits: [claimAudit(scene, run, reason), ...told],
  })
}

function verdict(scene: Scene, parts: Omit<ClaimVerdict, 'unclear'>): ClaimVerdict {
  const { subject } = parts
  const isHeadAgain = subject.currentRunId !== scene.sight.subject.currentRunId
  const choseAHead =
    parts.process || isHeadAgain || ['restored', 'queued', 'skipped'].includes(parts.reason)
  const threadCreatedAt = subject.threadCreatedAt ?? scene.claim.threadCreatedAt
  return {
    ...parts,
    subject: { ...subject, threadCreatedAt },
    unclear: scene.rank.unclear && (choseAHead || scene.rank.rank === 'stale'),
  }
}

function asCurrent(scene: Scene, run: Run): Subject {
  const { subject } = scene.sight
  const headBefore = scene.rank.rank === 'current' ? subject.headBefore : scene.claim.beforeSha
  return withOrder(scene, {
    ...subject,
    currentRunId: run.id,
    currentPair: run.pair,
    currentEnded: lastEndOf(run),
    headSha: run.headSha,
    headBefore,
  })
}

function withOrder(scene: Scene, subject: Subject): Subject {
  const { claim, rank } = scene
  const headAt = rank.orderAt
  const floorAt = headAt === null ? subject.floorAt : Math.max(headAt, subject.floorAt ?? headAt)
  // A push that brings the current head back says what it replaced, as the first one did.
  const isBack = rank.rank === 'current' && claim.headMaking && claim.eventAt === headAt
  const headBefore = isBack ? (claim.beforeSha ?? subject.headBefore) : subject.headBefore
  return { ...subject, headAt, floorAt, headBefore }
}

function withEvent(scene: Scene, run: Run): Run {
  const { eventAt } = scene.claim
  if (eventAt === null || (run.lastEventAt !== null && run.lastEventAt >= eventAt)) return run
  return { ...run, lastEventAt: eventAt }
}

function freshRun(scene: Scene): Run {
  const { claim, sight, moment, rank, newRunId } = scene
  const fresh = {
    ...newRun(claim, sight.subject, newRunId, moment.now),
    round: sight.pastRound + 1,
  }
  return withTrigger(fresh, claim, sight.subject, rank)
}

/** The audit row whose id becomes the run's fence. */
function claimAudit(scene: Scene, run: Run, reason: ClaimReason): AuditDraft {
  const type = reason === 'reclaimed' ? 'run.reclaimed' : 'run.claimed'
  const { key, round, attempt, state } = run
  const wanted = scene.claim.rerun && { rerun: true }
  return audit(scene, type, run.id, { reason, key, round, attempt, state, ...wanted })
}

function audit(
  scene: Scene,
  type: AuditDraft['type'],
  runId: string | null,
  data: AuditDraft['data'],
): AuditDraft {
  const { actor, webhookId, action } = scene.claim
  const context = {
    ...(webhookId === null ? {} : { webhook_id: webhookId }),
    ...(action === null ? {} : { action }),
  }
  return { type, actor, runId, data: { ...data, ...context } }
}
