/**
 * What became of a step, and what follows from it. Pure: the store applies the answer only while
 * the lease under which the step was made is still the delivery's.
 */
import type { AuditDraft } from '../audit.ts'
import type { Attempt, Delivery } from './delivery.ts'
import { isOpen } from './delivery.ts'
import {
  canStandTwice,
  close,
  counted,
  free,
  settles,
  withAppointment,
  withDue,
  withTimeLeft,
  withoutPreparations,
  withShown,
} from './follow-up.ts'
import { afterExamination, afterLook, afterScan, afterSettle, withSettling } from './look.ts'
import { priorityToSend } from './priority.ts'
import { inQueue } from './queue.ts'
import type { AttemptEnd, Circumstances, Finding, Told, Trouble } from './outcome.ts'
import { tell } from './outcome.ts'
import { backoffMs, retryRulesOf, scanAt, settleAt, showAt } from './schedule.ts'
import {
  askAgainLater,
  endFollowUps,
  giveUp,
  lookLater,
  pastDeadline,
  prepareLater,
  retryLater,
  sendLater,
  standInLine,
  waitOut,
  withFailedSend,
  withoutFollowUps,
} from './setback.ts'

export function afterAttempt(
  leased: Delivery,
  attempt: Attempt,
  end: AttemptEnd,
  around: Circumstances,
): Told {
  return inTime(leased, ended(leased, attempt, end, around), around)
}

const tooLate: Trouble = { code: 'too_late', text: 'the request could not leave in time' }

export function afterFinding(leased: Delivery, finding: Finding, around: Circumstances): Told {
  return inTime(leased, found(leased, finding, around), around)
}

function inTime(before: Delivery, told: Told, { now, rules }: Circumstances): Told {
  return { ...told, delivery: withTimeLeft(before, told.delivery, now, rules) }
}

function ended(leased: Delivery, attempt: Attempt, end: AttemptEnd, around: Circumstances): Told {
  const delivery = withoutPreparations(free(leased))
  switch (end.what) {
    case 'sent':
      return attempt.action === 'remove'
        ? afterRemoval(delivery, attempt, around)
        : afterSent(delivery, attempt, end, around)
    case 'retry':
      return sendLater(doubtedAgain(delivery), end.trouble, end.after, around)
    case 'unclear':
      return (
        askAgainLater(doubtedAgain(delivery), end.trouble, around) ??
        refused(delivery, attempt, end.trouble, around)
      )
    case 'permanent':
      return refused(delivery, attempt, end.trouble, around)
    case 'rate_limited':
      return waitOut(doubtedAgain(delivery), end.until, around)
    case 'in_doubt':
      return putInDoubt(delivery, attempt, end, around)
    case 'not_sent':
      // Nothing was sent, so no send is counted; it may be too late for the same reason each time.
      return retryLater(doubtedAgain(delivery), tooLate, null, around)
    case 'gone':
      return suspectLoss(delivery, end.trouble, around)
  }
}

function found(leased: Delivery, finding: Finding, around: Circumstances): Told {
  const prepared = finding.what !== 'unprepared'
  const delivery = prepared ? withoutPreparations(free(leased)) : free(leased)
  const { now } = around
  switch (finding.what) {
    case 'unchanged':
      return closeUnchanged(delivery, finding.hash, around)
    case 'looked':
      return afterLook(delivery, finding, around)
    case 'examined':
      return afterExamination(delivery, finding, around)
    case 'scanned':
      return afterScan(delivery, finding.standing, around)
    case 'settled':
      return afterSettle(delivery, finding.standing, around)
    case 'look_failed':
      return finding.permanent && isOpen(delivery)
        ? giveUp(delivery, finding.trouble, around)
        : lookLater(delivery, finding.trouble, finding.after, around)
    case 'look_limited':
      return waitOut(delivery, finding.until, around)
    case 'invalid':
      return giveUp(delivery, finding.trouble, around)
    case 'unprepared':
      return prepareLater(delivery, finding.trouble, finding.counted, around)
    case 'budget':
      return waitOut(inQueue(doubtedAgain(delivery), finding.queue), finding.until, around)
    case 'crowded':
      return standInLine(doubtedAgain(delivery), finding.queue, now)
    case 'save':
      return saveForTheEnd(delivery, now)
    case 'rest':
      return { delivery: withDue({ ...delivery, dueAt: null }, now), audits: [] }
    case 'place_learnt':
      return { delivery: { ...delivery, dueAt: now }, audits: [] }
    case 'overtaken':
      return { delivery: overtaken(delivery, around), audits: [] }
  }
}

/**
 * Whoever had it is gone, and what it did is not known: a crash, or a lease that ran out. The late
 * outcome, should it come, changes nothing any more.
 */
export function afterTakeover(delivery: Delivery, attempt: Attempt, around: Circumstances): Told {
  const trouble = { code: 'holder_lost', text: 'whoever sent it was lost before its answer' }
  const { action, startedAt } = attempt
  if (!isOpen(delivery)) {
    // Should it ever be taken up again, what may have come of this is looked for first.
    const memo = action === 'remove' ? delivery.memo : doubtful(delivery, action, startedAt)
    return { delivery: unsettled({ ...delivery, memo }, action === 'create', around), audits: [] }
  }
  return {
    delivery: {
      ...delivery,
      wait: 'in_doubt',
      memo: withFailedSend({ ...delivery, memo: doubtful(delivery, action, startedAt) }).memo,
      errorCode: trouble.code,
      errorText: trouble.text,
    },
    audits: [tell(delivery, 'delivery.in_doubt', { ...trouble, action, attempt_id: attempt.id })],
  }
}

/** The outcome of somebody who had lost the lease: what stands there has to be looked at again. */
export function afterLateEnd(
  delivery: Delivery,
  attempt: Attempt,
  around: Circumstances,
): Delivery {
  return unsettled(delivery, attempt.action === 'create', around)
}

/** Something may still arrive there: it is read again, and searched where it may stand twice. */
export function unsettled(
  delivery: Delivery,
  mayBeTwo: boolean,
  { now, rules }: Circumstances,
): Delivery {
  const marked = { ...delivery.memo, unsettled: true as const }
  const scan = mayBeTwo && canStandTwice(delivery) ? { step: 0, at: now + 1000 } : null
  const scanned = scan === null ? marked : withAppointment(marked, 'scan', scan)
  if (isOpen(delivery)) return { ...delivery, memo: scanned }
  const at = settleAt(0, now, rules)
  const settle = delivery.kind === 'state' && at !== null ? { step: 0, at } : null
  const memo = settle === null ? scanned : withAppointment(scanned, 'settle', settle)
  return withTimeLeft(delivery, withDue({ ...delivery, memo }, now), now, rules)
}

function afterSent(
  delivery: Delivery,
  attempt: Attempt,
  end: Extract<AttemptEnd, { what: 'sent' }>,
  around: Circumstances,
): Told {
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
    memo: counted(delivery, afterSuccess(delivery, action, around)),
  }
  const isNewest = delivery.versionFence === versionFence && delivery.versionSeq === versionSeq
  const told = isNewest
    ? close({ ...sent, memo: withShown(sent, sent.memo) }, 'SENT', null, now)
    : {
        ...sent,
        wait: 'due' as const,
        priority: priorityToSend(sent),
        dueAt: showAt(sent, now, rules),
      }
  return { delivery: told, audits: sentAudits(delivery, sent, attempt) }
}

/** A target that may get a late write is read again; one that may stand twice is searched. */
function afterSuccess(
  delivery: Delivery,
  action: Attempt['action'],
  { now, rules }: Circumstances,
): Delivery['memo'] {
  const {
    doubt: _doubt,
    sought: _sought,
    lost: _lost,
    recreatedFrom: _from,
    ...known
  } = delivery.memo
  const { failedSends: _sends, unclear: _unclear, ...memo } = known
  if (!settles({ memo })) return { ...memo, looked: true }
  const at = settleAt(0, now, rules)
  const settle = delivery.kind === 'state' && at !== null ? { step: 0, at } : null
  const settled = withAppointment({ ...memo, looked: true }, 'settle', settle)
  const scan = scanAt(0, now, rules)
  const searches = action === 'create' && canStandTwice(delivery) && scan !== null
  return searches ? withAppointment(settled, 'scan', { step: 0, at: scan }) : settled
}

/** What it says, where that is a word: `pending`, `success`. Nobody can read it later. */
function stateOf({ content }: Delivery): { readonly state?: string } {
  const { conclusion, state, status } = JSON.parse(content) as Readonly<Record<string, unknown>>
  const word = [conclusion, state, status].find((value) => typeof value === 'string')
  return word === undefined ? {} : { state: word }
}

function sentAudits(before: Delivery, sent: Delivery, attempt: Attempt): AuditDraft[] {
  const { providerId, providerUrl } = sent
  const version = { fence: attempt.versionFence, seq: attempt.versionSeq }
  const facts = { action: attempt.action, attempt_id: attempt.id, version, provider_id: providerId }
  const shown = { channel: before.channel, ...stateOf(before) }
  const audits = [tell(before, 'delivery.sent', { ...shown, ...facts })]
  if (before.coalesced > 0) {
    audits.push(tell(before, 'delivery.coalesced', { versions: before.coalesced }))
  }
  if (before.name !== 'anchor') return audits
  const comment = { comment_id: providerId, url: providerUrl }
  if (attempt.action === 'edit') audits.push(tell(before, 'run.service_message.updated', comment))
  else if (before.memo.recreatedFrom === undefined) {
    audits.push(tell(before, 'run.anchor.created', comment))
  } else {
    const data = { old_id: before.memo.recreatedFrom, new_id: providerId, reason: 'deleted' }
    audits.push(tell(before, 'run.anchor.recreated', data))
  }
  return audits
}

function afterRemoval(delivery: Delivery, attempt: Attempt, { now }: Circumstances): Told {
  const { surplus = [], ...rest } = delivery.memo
  const left = surplus.filter((id) => id !== attempt.providerId)
  const memo = left.length === 0 ? rest : { ...rest, surplus: left }
  const data = { kept: delivery.providerId, removed: attempt.providerId }
  const told = withDue({ ...delivery, tries: 0, memo }, now)
  const type = delivery.name === 'anchor' ? 'run.anchor.deduplicated' : 'delivery.deduplicated'
  return { delivery: told, audits: [tell(delivery, type, data)] }
}

/** It was refused for what the attempt carried; something newer has not been tried yet. */
function refused(
  delivery: Delivery,
  attempt: Attempt,
  trouble: Trouble,
  around: Circumstances,
): Told {
  if (!isOpen(delivery) || carries(attempt, delivery)) return giveUp(delivery, trouble, around)
  const { code, text } = trouble
  const known = { ...withoutFollowUps(delivery), errorCode: code, errorText: text }
  const next = overtaken(known, around)
  const { now, rules } = around
  const soonest = next.final ? now : now + rules.coalesceMs
  return { delivery: { ...next, dueAt: Math.max(next.dueAt ?? now, soonest) }, audits: [] }
}

const carries = ({ action, versionFence, versionSeq }: Attempt, delivery: Delivery): boolean =>
  action !== 'remove' &&
  delivery.versionFence === versionFence &&
  delivery.versionSeq === versionSeq

/** The newer version is tried, when it would have been had nobody tried the one before. */
function overtaken(delivery: Delivery, { now, rules }: Circumstances): Delivery {
  if (!isOpen(delivery)) return withDue(delivery, now)
  const priority = priorityToSend(delivery)
  return { ...delivery, wait: 'due', priority, dueAt: showAt(delivery, now, rules) }
}

function putInDoubt(
  delivery: Delivery,
  attempt: Attempt,
  end: Extract<AttemptEnd, { what: 'in_doubt' }>,
  { now, jitter, rules }: Circumstances,
): Told {
  const { trouble, after } = end
  const { code, text } = trouble
  const tries = delivery.tries + 1
  const soonest =
    end.looks === 2 ? now : now + backoffMs(tries, jitter, retryRulesOf(delivery, rules))
  const dueAt = Math.max(soonest, after ?? 0)
  const known = { ...delivery, tries, dueAt, errorCode: code, errorText: text }
  const { action, startedAt } = attempt
  const audits = [
    tell(delivery, 'delivery.in_doubt', { ...trouble, action, attempt_id: attempt.id }),
  ]
  if (!isOpen(delivery)) {
    const ends = dueAt > delivery.deadlineAt ? endFollowUps(delivery, trouble) : null
    return ends ?? { delivery: known, audits }
  }
  const { memo } = withFailedSend({ ...delivery, memo: doubtful(delivery, action, startedAt) })
  if (dueAt > delivery.deadlineAt) {
    const failed = pastDeadline({ ...delivery, memo }, trouble, now)
    return { ...failed, audits: [...audits, ...failed.audits] }
  }
  return { delivery: { ...known, wait: 'in_doubt', memo }, audits }
}

/**
 * It was looked for and is to be sent again, but not now. By then what was sent first may show, so
 * it is looked for once more.
 */
function doubtedAgain(delivery: Delivery): Delivery {
  const { sought, ...memo } = delivery.memo
  if (sought === undefined) return delivery
  const { isTurn: _over, ...doubt } = sought
  return { ...delivery, memo: { ...memo, doubt } }
}

/** The oldest attempt that nobody answered is the one to look for. */
function doubtful(delivery: Delivery, action: Attempt['action'], since: number): Delivery['memo'] {
  const { memo } = delivery
  const doubt = { action, since: memo.doubt?.since ?? since, looks: 0 }
  return { ...memo, unsettled: true, doubt }
}

function suspectLoss(delivery: Delivery, trouble: Trouble, { now }: Circumstances): Told {
  const { code, text } = trouble
  const memo = { ...delivery.memo, lost: { looks: 0 } }
  const suspected: Delivery = { ...delivery, memo, errorCode: code, errorText: text, dueAt: now }
  return { delivery: isOpen(delivery) ? { ...suspected, wait: 'in_doubt' } : suspected, audits: [] }
}

function saveForTheEnd(delivery: Delivery, now: number): Told {
  const data = { reason: 'status_limit', writes: delivery.memo.writes ?? 0 }
  return {
    delivery: close(delivery, 'SKIPPED', 'status_limit', now),
    audits: [tell(delivery, 'delivery.skipped', data)],
  }
}

function closeUnchanged(delivery: Delivery, hash: string, around: Circumstances): Told {
  const { versionFence, versionSeq, memo } = delivery
  const shown: Delivery = {
    ...delivery,
    announcedFence: versionFence,
    sentFence: versionFence,
    sentSeq: versionSeq,
    sentHash: hash,
    coalesced: 0,
    memo: withShown(delivery, memo.settle === undefined ? withSettling(delivery, around) : memo),
  }
  const data = { versions: delivery.coalesced + 1, why: 'unchanged' }
  const audits = [tell(delivery, 'delivery.coalesced', data)]
  return { delivery: close(shown, 'SENT', null, around.now), audits }
}
