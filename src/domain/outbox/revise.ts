/**
 * How a wish becomes a delivery, or the next version of one. A lower claim never changes what a
 * higher one has taken; an equal content is no new version.
 */
import type { AuditDraft } from '../audit.ts'
import type { Run } from '../run.ts'
import type { AnchorView } from './anchor-view.ts'
import { anchorView } from './anchor-view.ts'
import type { Desire } from './announce.ts'
import type { Delivery, Memo, Restored } from './delivery.ts'
import { isLeased, isOpen } from './delivery.ts'
import { close, free, settles, untried } from './follow-up.ts'
import { priorities, priorityToSend } from './priority.ts'
import { afterForgetting } from './restored.ts'
import { afterTaking } from './said-there.ts'
import type { PublishingRules } from './schedule.ts'
import { deadlineFor, showAt, windowMs } from './schedule.ts'

/** Whose wish it is: the run, and the fence of the claim it speaks under. */
export interface Wish {
  readonly desire: Desire
  readonly run: Run
  readonly repositoryId: string
  readonly markerKey: string
  /** The audit row that made the run want it. */
  readonly causeId: number | null
  /** It may have been shown, and the store may have been restored since. */
  readonly forgotten?: Restored
}

export interface Revision {
  readonly delivery: Delivery
  readonly audits: readonly AuditDraft[]
}

/** Null when nothing has to be written. */
export function revise(
  standing: Delivery | null,
  wish: Wish,
  newId: () => string,
  now: number,
  rules: PublishingRules,
): Revision | null {
  const { desire } = wish
  if (standing === null) {
    const makes = desire.claim === 'take' && !desire.closesOnly
    if (!makes) return null
    const first = begin(wish, newId(), now, rules)
    return { delivery: afterForgetting(first, wish, now, rules), audits: [] }
  }
  const fence = fenceOn(standing, wish.run)
  if (fence < standing.versionFence) return null
  const holds = fence === standing.versionFence
  if (!holds && desire.claim === 'keep') return null
  if (!holds && desire.claim === 'take-standing' && standing.providerId === null) return null
  const run = { ...wish.run, claimFence: fence }
  const owned = { ...wish, run }
  const content = contentOf(owned, standing)
  if (holds && desire.closesOnly && neverAnnounced(standing)) {
    return closeUnannounced(standing, owned, content, now)
  }
  if (holds && content === standing.content && desire.final === standing.final) return null
  const next = nextVersion(standing, owned, content, now, rules)
  const revised = holds ? next : { ...next, memo: afterTaking(standing, next) }
  return {
    delivery: holds && standing.memo.removedFence === fence ? removed(revised, now) : reopen(),
    audits: holds ? [] : takenOver(standing, run),
  }

  function reopen(): Delivery {
    return { ...revised, ...whenToShow(standing ?? revised, revised, now, rules) }
  }
}

/** A run that is shown again speaks under the claim that had taken its place. */
function fenceOn({ memo, versionFence }: Delivery, { claimFence }: Run): number {
  return memo.givenBack === claimFence ? versionFence : claimFence
}

/** A newer claim has this place: what this run says is not shown there. */
export function isTaken(standing: Delivery, run: Run): boolean {
  return fenceOn(standing, run) < standing.versionFence
}

/** Said by a run whose place is taken; `shown` is whose it is. */
export function targetTaken(delivery: Delivery, run: Run, shown: string): AuditDraft {
  const data = { target: delivery.target, state: run.state, shown_run_id: shown }
  const about = { runId: run.id, deliveryId: delivery.id, data }
  return { type: 'delivery.target_taken', actor: 'system', ...about }
}

/**
 * The owner ended without a result, and another run has one to show there, or is at it. The version
 * only grows: a write of the owner that is still under way must not count as newer.
 */
export function giveBack(
  standing: Delivery,
  wish: Wish,
  now: number,
  rules: PublishingRules,
): Delivery {
  const { claimFence } = wish.run
  const owned = { ...wish, run: { ...wish.run, claimFence: standing.versionFence } }
  const next = nextVersion(standing, owned, contentOf(owned, standing), now, rules)
  const memo = { ...next.memo, givenBack: claimFence }
  const revised = { ...next, memo, shownSince: null, markerKey: wish.markerKey }
  return { ...revised, ...whenToShow(standing, revised, now, rules) }
}

/**
 * Nothing of this claim was on its way, nor is an earlier one's left open: nothing to close. Where
 * an earlier one may still arrive late, its "under way" would stay: there the end is said.
 */
function neverAnnounced({ announcedFence, versionFence, attemptId, memo }: Delivery): boolean {
  const isUnshown = announcedFence !== versionFence && attemptId === null
  return isUnshown && memo.showsWork !== true && !settles({ memo })
}

/** Its content is how it ended all the same: should an operator want it sent, that is what is. */
function closeUnannounced(
  before: Delivery,
  { run, causeId }: Wish,
  content: string,
  now: number,
): Revision | null {
  // Another version, so that whoever is about to send the last one finds it changed.
  const versionSeq = before.versionSeq + 1
  const standing = { ...before, causeId, content, announces: false, final: true, versionSeq }
  if (!isOpen(before)) return before.announces ? { delivery: standing, audits: [] } : null
  const delivery = close(free(standing), 'SKIPPED', 'never_announced', now)
  const data = { reason: 'never_announced', target: standing.target }
  return {
    delivery,
    audits: [
      { type: 'delivery.skipped', actor: 'system', runId: run.id, deliveryId: standing.id, data },
    ],
  }
}

function begin(wish: Wish, id: string, now: number, rules: PublishingRules): Delivery {
  const { desire, run, repositoryId, markerKey, causeId } = wish
  return {
    ...blank,
    id,
    kind: desire.kind,
    channel: desire.channel,
    target: desire.target,
    name: desire.name,
    runId: run.id,
    subjectId: run.subjectId,
    repositoryId,
    thread: desire.thread,
    sha: desire.sha,
    markerKey,
    round: run.round,
    versionFence: run.claimFence,
    versionSeq: 1,
    causeId,
    content: contentOf(wish, null),
    final: desire.final,
    announces: desire.announces,
    dueAt: now,
    deadlineAt: deadlineFor(desire.kind, now, rules),
    createdAt: now,
    changedAt: now,
  }
}

function nextVersion(
  standing: Delivery,
  wish: Wish,
  content: string,
  now: number,
  rules: PublishingRules,
): Delivery {
  const { desire, run, causeId } = wish
  const { versionFence } = standing
  const { givenBack, ...known } = untried(standing.memo)
  const stays = givenBack !== undefined && run.claimFence === versionFence
  const memo = stays ? { ...known, givenBack } : known
  return {
    ...standing,
    memo,
    name: desire.name,
    runId: run.id,
    subjectId: run.subjectId,
    thread: desire.thread,
    round: run.round,
    versionFence: run.claimFence,
    versionSeq: standing.versionSeq + 1,
    causeId,
    content,
    final: desire.final,
    announces: desire.announces,
    status: 'PENDING',
    reason: null,
    wait: 'due',
    closedAt: null,
    deadlineAt: deadlineFor(standing.kind, now, rules),
    changedAt: now,
    shownSince: run.claimFence === versionFence ? standing.shownSince : null,
    coalesced: isOpen(standing) && standing.attemptId === null ? standing.coalesced + 1 : 0,
  }
}

/** What the target waits for already is waited out; only then the newest version is shown. */
function whenToShow(
  before: Delivery,
  revised: Delivery,
  now: number,
  rules: PublishingRules,
): Pick<Delivery, 'wait' | 'dueAt' | 'tries' | 'priority'> {
  const priority = priorityToSend(revised)
  const { wait, dueAt, tries } = before
  const isWaiting = isOpen(before) && !isLeased(before, now)
  // It keeps its place. How long it stands there counts for its deadline, which begins anew.
  if (isWaiting && before.queue !== null) return { wait, dueAt: now, tries, priority }
  // What holds progress back does not hold back creates and ends; a block is found out again.
  const waits =
    wait !== null && wait !== 'due' && !(wait === 'budget' && priority === priorities.first)
  if (isOpen(before) && (isLeased(before, now) || waits)) return { wait, dueAt, tries, priority }
  const soonest = Math.max(
    showAt(revised, now, rules),
    afterWhatFailed(before, revised, now, rules),
  )
  return { wait: 'due', dueAt: soonest, tries: 0, priority }
}

/** Progress that was refused is tried no more often than progress that was not. */
function afterWhatFailed(
  before: Delivery,
  { final, versionFence }: Delivery,
  now: number,
  rules: PublishingRules,
): number {
  const { status, dueAt, closedAt, createdAt, leaseId, leasedUntil, attemptId } = before
  // Somebody's request may still be on its way: it is not looked for before its time is over.
  if (leaseId === null && attemptId !== null) return leasedUntil ?? now
  const isProgressToo = !final && versionFence === before.versionFence
  if (isOpen(before) && isProgressToo) return dueAt ?? now
  if (status !== 'FAILED' || closedAt === null || !isProgressToo) return now
  return closedAt + windowMs(now - createdAt, rules)
}

/** A person has removed it twice: this round shows it no more. */
function removed(delivery: Delivery, now: number): Delivery {
  return close(delivery, 'SKIPPED', 'anchor_removed', now)
}

function contentOf({ desire, run }: Wish, standing: Delivery | null): string {
  if (desire.content !== 'anchor') return JSON.stringify(desire.content)
  const before = standing === null ? null : viewOf(standing)
  return JSON.stringify({ form: 'anchor', view: anchorView(run, before) })
}

function viewOf({ content }: Delivery): AnchorView | null {
  return (JSON.parse(content) as { readonly view?: AnchorView }).view ?? null
}

function takenOver(standing: Delivery, run: Run): AuditDraft[] {
  if (standing.name !== 'anchor' || standing.runId === run.id) return []
  // Nothing was there yet to be taken over.
  if (standing.providerId === null) return []
  const data = { from_run_id: standing.runId, comment_id: standing.providerId }
  return [
    {
      type: 'run.anchor.taken_over',
      actor: 'system',
      runId: run.id,
      deliveryId: standing.id,
      data,
    },
  ]
}

const noMemo: Memo = {}

const blank: Delivery = {
  id: '',
  rev: 0,
  kind: 'state',
  channel: 'github-comment',
  target: '',
  name: '',
  runId: '',
  subjectId: '',
  repositoryId: '',
  thread: null,
  sha: null,
  markerKey: '',
  round: 1,
  versionFence: 0,
  versionSeq: 0,
  causeId: null,
  content: '{}',
  final: false,
  announces: false,
  status: 'PENDING',
  reason: null,
  wait: 'due',
  priority: priorities.first,
  queue: null,
  waitsSince: null,
  turn: null,
  line: null,
  dueAt: null,
  leaseId: null,
  leasedUntil: null,
  attemptId: null,
  tries: 0,
  deadlineAt: 0,
  announcedFence: null,
  sentFence: null,
  sentSeq: null,
  sentHash: null,
  sentAt: null,
  shownSince: null,
  providerId: null,
  providerUrl: null,
  coalesced: 0,
  memo: noMemo,
  errorCode: null,
  errorText: null,
  createdAt: 0,
  changedAt: 0,
  closedAt: null,
}
