/**
 * Turns a wanted output into a delivery, or into the next version of one. An older claim never
 * changes a target that a newer claim has taken. Equal content is no new version.
 */
import type { AuditDraft } from '../audit.ts'
import type { Run } from '../run.ts'
import type { WantedOutput } from './announce.ts'
import type { Content } from './channel-declaration.ts'
import type { Delivery, RestoreCheck } from './delivery.ts'
import { isLeased, isOpen } from './delivery.ts'
import { close, withoutLease, mayArriveLate, withoutTries } from './protocol/follow-up.ts'
import { priorities, priorityToSend } from './queue.ts'
import { lookForForgotten } from './restored.ts'
import { protocolAfterTaking } from './give-back.ts'
import type { PublishingRules } from './schedule.ts'
import { deadlineFor, showAt, windowMs } from './schedule.ts'

/** What a run wants to show. `run.claimFence` is the claim that the version belongs to. */
export interface RunOutput {
  readonly wanted: WantedOutput
  readonly run: Run
  readonly repositoryId: string
  readonly markerKey: string
  /** The audit row that caused it. */
  readonly causeId: number | null
  /** It may already be shown, because the store was restored since. */
  readonly forgotten?: RestoreCheck
}

export interface Revision {
  readonly delivery: Delivery
  readonly audits: readonly AuditDraft[]
}

/** Null when nothing has to be written. */
export function revise(
  existing: Delivery | null,
  output: RunOutput,
  newId: () => string,
  now: number,
  rules: PublishingRules,
): Revision | null {
  const { wanted } = output
  if (existing === null) {
    const makes = wanted.claim === 'take' && !wanted.closesOnly
    if (!makes) return null
    const first = firstVersion(output, newId(), now, rules)
    return { delivery: lookForForgotten(first, output, now, rules), audits: [] }
  }
  const fence = fenceOn(existing, output.run)
  if (fence < existing.versionFence) return null
  const holds = fence === existing.versionFence
  if (!holds && wanted.claim === 'keep') return null
  if (!holds && wanted.claim === 'take-existing' && existing.providerId === null) return null
  const run = { ...output.run, claimFence: fence }
  const owned = { ...output, run }
  const content = contentOf(owned, existing)
  if (holds && wanted.closesOnly && wasNeverAnnounced(existing)) {
    return closeUnannounced(existing, owned, content, now)
  }
  if (holds && content === existing.content && wanted.final === existing.final) return null
  const next = nextVersion(existing, owned, content, now, rules)
  const taken = () => ({ ...next, protocol: protocolAfterTaking(wanted.channel, existing, next) })
  const revised = holds ? next : taken()
  return {
    delivery:
      holds && existing.protocol.removedFence === fence ? closeRemoved(revised, now) : reopen(),
    audits: holds ? [] : takeoverAudits(existing, run),
  }

  function reopen(): Delivery {
    return { ...revised, ...whenToShow(existing ?? revised, revised, now, rules) }
  }
}

/** A run that got its target back writes under the newer claim that had taken the target. */
function fenceOn({ protocol, versionFence }: Delivery, { claimFence }: Run): number {
  return protocol.givenBack === claimFence ? versionFence : claimFence
}

/** A newer claim has this target, so the output of this run is not shown there. */
export function isTargetTaken(existing: Delivery, run: Run): boolean {
  return fenceOn(existing, run) < existing.versionFence
}

/** `shown`: the run that has the target. */
export function targetTakenAudit(delivery: Delivery, run: Run, shown: string | null): AuditDraft {
  const data = { target: delivery.target, state: run.state, shown_run_id: shown }
  const about = { runId: run.id, deliveryId: delivery.id, data }
  return { type: 'delivery.target_taken', actor: 'system', ...about }
}

/**
 * Gives the target back: its owner ended without a result, and another run is active or has one.
 * The version still grows, so that a late write of the owner does not count as newer.
 */
export function giveBack(
  existing: Delivery,
  output: RunOutput,
  now: number,
  rules: PublishingRules,
): Delivery {
  const { claimFence } = output.run
  const owned = { ...output, run: { ...output.run, claimFence: existing.versionFence } }
  const next = nextVersion(existing, owned, contentOf(owned, existing), now, rules)
  const protocol = { ...next.protocol, givenBack: claimFence }
  const revised = { ...next, protocol, shownSince: null, markerKey: output.markerKey }
  return { ...revised, ...whenToShow(existing, revised, now, rules) }
}

/**
 * Nothing of this claim was sent, and no earlier claim left work in progress there. So there is
 * nothing to close. If an earlier write may still arrive late, the end must be sent.
 */
function wasNeverAnnounced({
  announcedFence,
  versionFence,
  attemptId,
  protocol,
}: Delivery): boolean {
  const isUnshown = announcedFence !== versionFence && attemptId === null
  return isUnshown && protocol.showsWork !== true && !mayArriveLate({ protocol })
}

/** The content still shows the end, so that an operator's retry sends the right thing. */
function closeUnannounced(
  before: Delivery,
  { run, causeId }: RunOutput,
  content: string,
  now: number,
): Revision | null {
  // A new version, so that a process that is about to send the last one notices the change.
  const versionSeq = before.versionSeq + 1
  const existing = { ...before, causeId, content, announces: false, final: true, versionSeq }
  if (!isOpen(before)) return before.announces ? { delivery: existing, audits: [] } : null
  const delivery = close(withoutLease(existing), 'SKIPPED', 'never_announced', now)
  const data = { reason: 'never_announced', target: existing.target }
  return {
    delivery,
    audits: [
      { type: 'delivery.skipped', actor: 'system', runId: run.id, deliveryId: existing.id, data },
    ],
  }
}

function firstVersion(
  output: RunOutput,
  id: string,
  now: number,
  rules: PublishingRules,
): Delivery {
  const { wanted, run, repositoryId, markerKey, causeId } = output
  return {
    ...blank,
    id,
    kind: wanted.kind,
    channel: wanted.channel.name,
    target: wanted.target,
    name: wanted.name,
    runId: run.id,
    subjectId: run.subjectId,
    repositoryId,
    thread: wanted.thread,
    sha: wanted.sha,
    markerKey,
    round: run.round,
    versionFence: run.claimFence,
    versionSeq: 1,
    causeId,
    content: contentOf(output, null),
    final: wanted.final,
    announces: wanted.announces,
    dueAt: now,
    deadlineAt: deadlineFor(wanted.kind, now, rules),
    createdAt: now,
    changedAt: now,
  }
}

function nextVersion(
  existing: Delivery,
  output: RunOutput,
  content: string,
  now: number,
  rules: PublishingRules,
): Delivery {
  const { wanted, run, causeId } = output
  const { versionFence } = existing
  const { givenBack, ...known } = withoutTries(existing.protocol)
  const stays = givenBack !== undefined && run.claimFence === versionFence
  const protocol = stays ? { ...known, givenBack } : known
  return {
    ...existing,
    protocol,
    name: wanted.name,
    runId: run.id,
    subjectId: run.subjectId,
    thread: wanted.thread,
    round: run.round,
    versionFence: run.claimFence,
    versionSeq: existing.versionSeq + 1,
    causeId,
    content,
    final: wanted.final,
    announces: wanted.announces,
    status: 'PENDING',
    reason: null,
    wait: 'due',
    closedAt: null,
    deadlineAt: deadlineFor(existing.kind, now, rules),
    changedAt: now,
    shownSince: run.claimFence === versionFence ? existing.shownSince : null,
    coalesced: isOpen(existing) && existing.attemptId === null ? existing.coalesced + 1 : 0,
  }
}

/** If the target already waits for something, the newest version waits for the same. */
function whenToShow(
  before: Delivery,
  revised: Delivery,
  now: number,
  rules: PublishingRules,
): Pick<Delivery, 'wait' | 'dueAt' | 'tries' | 'priority'> {
  const priority = priorityToSend(revised)
  const { wait, dueAt, tries } = before
  const isWaiting = isOpen(before) && !isLeased(before, now)
  // It keeps its place in the queue. The time from now on is added to its new deadline.
  if (isWaiting && before.queue !== null) return { wait, dueAt: now, tries, priority }
  // A budget that stops progress does not stop creates and ends. A block would stop them at the
  // next try.
  const waits =
    wait !== null && wait !== 'due' && !(wait === 'budget' && priority === priorities.first)
  if (isOpen(before) && (isLeased(before, now) || waits)) return { wait, dueAt, tries, priority }
  const soonest = Math.max(
    showAt(revised, now, rules),
    afterWhatFailed(before, revised, now, rules),
  )
  return { wait: 'due', dueAt: soonest, tries: 0, priority }
}

/** After a failure, progress is tried no more often than it would be sent. */
function afterWhatFailed(
  before: Delivery,
  { final, versionFence }: Delivery,
  now: number,
  rules: PublishingRules,
): number {
  const { status, dueAt, closedAt, createdAt, leaseId, leasedUntil, attemptId } = before
  // The request of a lost holder may still arrive, so no look comes before its lease is over.
  if (leaseId === null && attemptId !== null) return leasedUntil ?? now
  const isProgressToo = !final && versionFence === before.versionFence
  if (isOpen(before) && isProgressToo) return dueAt ?? now
  if (status !== 'FAILED' || closedAt === null || !isProgressToo) return now
  return closedAt + windowMs(now - createdAt, rules)
}

/** A person removed it twice, so it is not shown again in this round. */
function closeRemoved(delivery: Delivery, now: number): Delivery {
  return close(delivery, 'SKIPPED', 'anchor_removed', now)
}

function contentOf({ wanted, run }: RunOutput, existing: Delivery | null): string {
  if (typeof wanted.content !== 'function') return JSON.stringify(wanted.content)
  const before = existing === null ? null : (JSON.parse(existing.content) as Content)
  return JSON.stringify(wanted.content(run, before))
}

function takeoverAudits(existing: Delivery, run: Run): AuditDraft[] {
  if (existing.name !== 'anchor' || existing.runId === run.id) return []
  // There was no comment yet that could be taken over.
  if (existing.providerId === null) return []
  const data = { from_run_id: existing.runId, comment_id: existing.providerId }
  return [
    {
      type: 'run.anchor.taken_over',
      actor: 'system',
      runId: run.id,
      deliveryId: existing.id,
      data,
    },
  ]
}

/** A message without a run: sent once to an address. */
export interface NewMessage {
  readonly channel: string
  readonly target: string
  readonly name: string
  readonly address: string
  readonly markerKey: string
  readonly content: Content
}

export function messageTo(
  { content, ...message }: NewMessage,
  id: string,
  now: number,
  rules: PublishingRules,
): Delivery {
  return {
    ...blank,
    ...message,
    id,
    kind: 'message',
    versionSeq: 1,
    content: JSON.stringify(content),
    final: true,
    dueAt: now,
    deadlineAt: deadlineFor('message', now, rules),
    createdAt: now,
    changedAt: now,
  }
}

const blank: Delivery = {
  id: '',
  rev: 0,
  kind: 'state',
  channel: '',
  target: '',
  name: '',
  runId: null,
  subjectId: null,
  repositoryId: null,
  thread: null,
  sha: null,
  address: null,
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
  protocol: {},
  errorCode: null,
  errorText: null,
  createdAt: 0,
  changedAt: 0,
  closedAt: null,
}
