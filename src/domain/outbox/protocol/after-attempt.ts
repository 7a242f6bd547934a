/**
 * What follows from the outcome of a step. Pure: the store applies the answer only while the
 * delivery still has the lease under which the step was made.
 */
import type { AuditDraft } from '../../audit.ts'
import type { DeliveryAttempt, Delivery } from '../delivery.ts'
import { isOpen } from '../delivery.ts'
import {
  close,
  withWriteCounted,
  withoutLease,
  mayArriveLate,
  withPlannedRead,
  withFollowUpDue,
  withFollowUpDeadline,
  withoutPreparations,
  withShowsWork,
} from './follow-up.ts'
import {
  afterExamination,
  afterLook,
  afterScan,
  afterSettle,
  holdInDoubt,
  resendUnconfirmed,
  withSettling,
} from './after-look.ts'
import { withDoubt } from './in-doubt.ts'
import { priorityToSend } from '../queue.ts'
import { inQueue } from '../queue.ts'
import type { AttemptEnd, Circumstances, Finding, DeliveryChange, Trouble } from '../outcome.ts'
import { auditOf } from '../outcome.ts'
import { backoffMs, retryRulesOf, scanAt, settleAt, showAt } from '../schedule.ts'
import {
  retryUnclear,
  endFollowUps,
  fail,
  lookLater,
  failPastDeadline,
  prepareLater,
  retryLater,
  sendLater,
  waitInQueue,
  waitForIdentity,
  withFailedSend,
  withoutFollowUps,
} from './retry-later.ts'

export function afterAttempt(
  leased: Delivery,
  attempt: DeliveryAttempt,
  end: AttemptEnd,
  around: Circumstances,
): DeliveryChange {
  return withDeadline(leased, changeAfterAttempt(leased, attempt, end, around), around)
}

const tooLate: Trouble = { code: 'too_late', text: 'the request could not leave in time' }

export function afterFinding(
  leased: Delivery,
  finding: Finding,
  around: Circumstances,
): DeliveryChange {
  return withDeadline(leased, changeAfterFinding(leased, finding, around), around)
}

function withDeadline(
  before: Delivery,
  change: DeliveryChange,
  { now, rules }: Circumstances,
): DeliveryChange {
  return { ...change, delivery: withFollowUpDeadline(before, change.delivery, now, rules) }
}

function changeAfterAttempt(
  leased: Delivery,
  attempt: DeliveryAttempt,
  end: AttemptEnd,
  around: Circumstances,
): DeliveryChange {
  const delivery = withoutPreparations(withoutLease(leased))
  switch (end.what) {
    case 'sent':
      return attempt.action === 'remove'
        ? afterRemoval(delivery, attempt, around)
        : afterSent(delivery, attempt, end, around)
    case 'retry':
      return sendLater(inDoubtAgain(delivery), end.trouble, end.after, around)
    case 'unclear':
      return (
        retryUnclear(inDoubtAgain(delivery), end.trouble, around) ??
        refused(delivery, attempt, end.trouble, around)
      )
    case 'permanent':
      return refused(delivery, attempt, end.trouble, around)
    case 'rate_limited':
      return waitForIdentity(inDoubtAgain(delivery), end.until, around)
    case 'in_doubt':
      return putInDoubt(delivery, attempt, end, around)
    case 'not_sent':
      // No send is counted, because nothing was sent. The backoff grows, because it may be late
      // each time.
      return retryLater(inDoubtAgain(delivery), tooLate, null, around)
    case 'gone':
      return suspectLost(delivery, end.trouble, around)
  }
}

function changeAfterFinding(
  leased: Delivery,
  finding: Finding,
  around: Circumstances,
): DeliveryChange {
  const prepared = finding.what !== 'unprepared' && finding.what !== 'no_channel'
  const delivery = prepared ? withoutPreparations(withoutLease(leased)) : withoutLease(leased)
  const { now } = around
  switch (finding.what) {
    case 'unchanged':
      return closeUnchanged(delivery, finding.hash, around)
    case 'looked':
      return afterLook(delivery, finding, around)
    case 'examined':
      return afterExamination(delivery, finding, around)
    case 'scanned':
      return afterScan(delivery, finding.found, around)
    case 'settled':
      return afterSettle(delivery, finding.found, around)
    case 'look_failed':
      return finding.permanent && isOpen(delivery)
        ? fail(delivery, finding.trouble, around)
        : lookLater(delivery, finding.trouble, finding.after, around)
    case 'look_limited':
      return waitForIdentity(delivery, finding.until, around)
    case 'invalid':
      return fail(delivery, finding.trouble, around)
    case 'unprepared':
      return prepareLater(delivery, finding.trouble, finding.counted, around)
    case 'budget':
      return waitForIdentity(inQueue(inDoubtAgain(delivery), finding.queue), finding.until, around)
    case 'no_slot':
      return waitInQueue(inDoubtAgain(delivery), finding.queue, now)
    case 'resend':
      return resendUnconfirmed(delivery, around)
    case 'hold':
      return holdInDoubt(delivery)
    case 'reserve':
      return skipForReserve(delivery, now)
    case 'nothing':
      return { delivery: withFollowUpDue({ ...delivery, dueAt: null }, now), audits: [] }
    case 'no_channel':
      return leaveToOthers(delivery, finding.trouble, now)
    case 'place_learnt':
      return { delivery: { ...delivery, dueAt: now }, audits: [] }
    case 'overtaken':
      return { delivery: scheduleNewest(delivery, around), audits: [] }
  }
}

function afterSent(
  delivery: Delivery,
  attempt: DeliveryAttempt,
  end: Extract<AttemptEnd, { what: 'sent' }>,
  around: Circumstances,
): DeliveryChange {
  const { now, rules } = around
  const { versionFence, versionSeq, action } = attempt
  const sent: Delivery = {
    ...delivery,
    sentFence: versionFence,
    sentSeq: versionSeq,
    sentHash: end.hash,
    sentAt: now,
    shownSince: delivery.shownSince ?? now,
    providerId: end.providerId ?? delivery.providerId,
    providerUrl: end.url ?? delivery.providerUrl,
    coalesced: 0,
    tries: 0,
    errorCode: null,
    errorText: null,
    protocol: withWriteCounted(around.channel, afterSuccess(delivery, action, around)),
  }
  const isNewest = delivery.versionFence === versionFence && delivery.versionSeq === versionSeq
  const change = isNewest
    ? close({ ...sent, protocol: withShowsWork(sent, sent.protocol) }, 'SENT', null, now)
    : {
        ...sent,
        wait: 'due' as const,
        priority: priorityToSend(sent),
        dueAt: showAt(sent, now, rules),
      }
  return { delivery: change, audits: sentAudits(delivery, sent, attempt) }
}

/**
 * A target that may get a late write is read again. If there may be two copies, it is also scanned.
 */
function afterSuccess(
  delivery: Delivery,
  action: DeliveryAttempt['action'],
  { now, rules, channel }: Circumstances,
): Delivery['protocol'] {
  const {
    doubt: _doubt,
    sought: _sought,
    lost: _lost,
    recreatedFrom: _from,
    ...others
  } = delivery.protocol
  const { failedSends: _sends, unclear: _unclear, ...protocol } = others
  if (!mayArriveLate({ protocol })) return { ...protocol, looked: true }
  const at = settleAt(0, now, rules)
  const settle = delivery.kind === 'state' && at !== null ? { step: 0, at } : null
  const settled = withPlannedRead({ ...protocol, looked: true }, 'settle', settle)
  const scan = scanAt(0, now, rules)
  const searches = action === 'create' && channel.keptCopy !== null && scan !== null
  return searches ? withPlannedRead(settled, 'scan', { step: 0, at: scan }) : settled
}

/**
 * The state or conclusion that it shows, such as `success`. It is audited now, because a later
 * version overwrites it.
 */
function stateOf({ content }: Delivery): { readonly state?: string } {
  const { conclusion, state, status } = JSON.parse(content) as Readonly<Record<string, unknown>>
  const word = [conclusion, state, status].find((value) => typeof value === 'string')
  return word === undefined ? {} : { state: word }
}

function sentAudits(before: Delivery, sent: Delivery, attempt: DeliveryAttempt): AuditDraft[] {
  const { providerId, providerUrl } = sent
  const version = { fence: attempt.versionFence, seq: attempt.versionSeq }
  const facts = { action: attempt.action, attempt_id: attempt.id, version, provider_id: providerId }
  const shown = { channel: before.channel, ...stateOf(before) }
  const audits = [auditOf(before, 'delivery.sent', { ...shown, ...facts })]
  if (before.coalesced > 0) {
    audits.push(auditOf(before, 'delivery.coalesced', { versions: before.coalesced }))
  }
  if (before.name !== 'anchor') return audits
  const comment = { comment_id: providerId, url: providerUrl }
  if (attempt.action === 'edit')
    audits.push(auditOf(before, 'run.service_message.updated', comment))
  else if (before.protocol.recreatedFrom === undefined) {
    audits.push(auditOf(before, 'run.anchor.created', comment))
  } else {
    const data = { old_id: before.protocol.recreatedFrom, new_id: providerId, reason: 'deleted' }
    audits.push(auditOf(before, 'run.anchor.recreated', data))
  }
  return audits
}

function afterRemoval(
  delivery: Delivery,
  attempt: DeliveryAttempt,
  { now }: Circumstances,
): DeliveryChange {
  const { surplus = [], ...rest } = delivery.protocol
  const left = surplus.filter((id) => id !== attempt.providerId)
  const protocol = left.length === 0 ? rest : { ...rest, surplus: left }
  const data = { kept: delivery.providerId, removed: attempt.providerId }
  const change = withFollowUpDue({ ...delivery, tries: 0, protocol }, now)
  const type = delivery.name === 'anchor' ? 'run.anchor.deduplicated' : 'delivery.deduplicated'
  return { delivery: change, audits: [auditOf(delivery, type, data)] }
}

/** Only the version of the attempt was refused. A newer version has not been tried yet. */
function refused(
  delivery: Delivery,
  attempt: DeliveryAttempt,
  trouble: Trouble,
  around: Circumstances,
): DeliveryChange {
  if (!isOpen(delivery) || isNewestVersion(attempt, delivery))
    return fail(delivery, trouble, around)
  const { code, text } = trouble
  const withError = { ...withoutFollowUps(delivery), errorCode: code, errorText: text }
  const next = scheduleNewest(withError, around)
  const { now, rules } = around
  const soonest = next.final ? now : now + rules.coalesceMs
  return { delivery: { ...next, dueAt: Math.max(next.dueAt ?? now, soonest) }, audits: [] }
}

const isNewestVersion = (
  { action, versionFence, versionSeq }: DeliveryAttempt,
  delivery: Delivery,
): boolean =>
  action !== 'remove' &&
  delivery.versionFence === versionFence &&
  delivery.versionSeq === versionSeq

/** The newest version is due when it would be due if nothing had been tried before. */
function scheduleNewest(delivery: Delivery, { now, rules }: Circumstances): Delivery {
  if (!isOpen(delivery)) return withFollowUpDue(delivery, now)
  const priority = priorityToSend(delivery)
  return { ...delivery, wait: 'due', priority, dueAt: showAt(delivery, now, rules) }
}

function putInDoubt(
  delivery: Delivery,
  attempt: DeliveryAttempt,
  end: Extract<AttemptEnd, { what: 'in_doubt' }>,
  { now, jitter, rules }: Circumstances,
): DeliveryChange {
  const { trouble, after } = end
  const { code, text } = trouble
  const tries = delivery.tries + 1
  const soonest =
    end.looks === 2 ? now : now + backoffMs(tries, jitter, retryRulesOf(delivery, rules))
  const dueAt = Math.max(soonest, after ?? 0)
  const withError = { ...delivery, tries, dueAt, errorCode: code, errorText: text }
  const { action, startedAt } = attempt
  const audits = [
    auditOf(delivery, 'delivery.in_doubt', { ...trouble, action, attempt_id: attempt.id }),
  ]
  if (!isOpen(delivery)) {
    const ends = dueAt > delivery.deadlineAt ? endFollowUps(delivery, trouble) : null
    return ends ?? { delivery: withError, audits }
  }
  const { protocol } = withFailedSend({
    ...delivery,
    protocol: withDoubt(delivery, action, startedAt),
  })
  if (dueAt > delivery.deadlineAt) {
    const failed = failPastDeadline({ ...delivery, protocol }, trouble, now)
    return { ...failed, audits: [...audits, ...failed.audits] }
  }
  return { delivery: { ...withError, wait: 'in_doubt', protocol }, audits }
}

/**
 * A look did not find it, and the send is postponed. Until then the first request may still arrive,
 * so the delivery is in doubt again and needs another look.
 */
function inDoubtAgain(delivery: Delivery): Delivery {
  const { sought, ...protocol } = delivery.protocol
  if (sought === undefined) return delivery
  const { isTurn: _over, ...doubt } = sought
  return { ...delivery, protocol: { ...protocol, doubt } }
}

function suspectLost(delivery: Delivery, trouble: Trouble, { now }: Circumstances): DeliveryChange {
  const { code, text } = trouble
  const protocol = { ...delivery.protocol, lost: { looks: 0 } }
  const suspected: Delivery = {
    ...delivery,
    protocol,
    errorCode: code,
    errorText: text,
    dueAt: now,
  }
  return { delivery: isOpen(delivery) ? { ...suspected, wait: 'in_doubt' } : suspected, audits: [] }
}

function skipForReserve(delivery: Delivery, now: number): DeliveryChange {
  const data = { reason: 'status_limit', writes: delivery.protocol.writes ?? 0 }
  return {
    delivery: close(delivery, 'SKIPPED', 'status_limit', now),
    audits: [auditOf(delivery, 'delivery.skipped', data)],
  }
}

const otherProcessMs = 30_000

/**
 * A process that has the channel takes the delivery, perhaps only after an update. So nothing is
 * counted against it, and it does not fail at its deadline.
 */
function leaveToOthers(delivery: Delivery, { code, text }: Trouble, now: number): DeliveryChange {
  const later = { ...delivery, errorCode: code, errorText: text, dueAt: now + otherProcessMs }
  return { delivery: later, audits: [] }
}

function closeUnchanged(delivery: Delivery, hash: string, around: Circumstances): DeliveryChange {
  const { versionFence, versionSeq, protocol } = delivery
  const shown: Delivery = {
    ...delivery,
    announcedFence: versionFence,
    sentFence: versionFence,
    sentSeq: versionSeq,
    sentHash: hash,
    coalesced: 0,
    protocol: withShowsWork(
      delivery,
      protocol.settle === undefined ? withSettling(delivery, around) : protocol,
    ),
  }
  const data = { versions: delivery.coalesced + 1, why: 'unchanged' }
  const audits = [auditOf(delivery, 'delivery.coalesced', data)]
  return { delivery: close(shown, 'SENT', null, around.now), audits }
}
