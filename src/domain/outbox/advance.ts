/**
 * What became of a step, and what follows from it. Pure: the store applies the answer only while
 * the lease under which the step was made is still the delivery's.
 */
import type { AuditDraft } from '../audit.ts'
import type { Attempt, Delivery } from './delivery.ts'
import { isOpen } from './delivery.ts'
import { canStandTwice, close, free, withAppointment, withDue, withShown } from './follow-up.ts'
import { afterExamination, afterLook, afterScan, afterSettle } from './look.ts'
import { isProgress } from './revise.ts'
import type { AttemptEnd, Circumstances, Finding, Told, Trouble } from './outcome.ts'
import { tell } from './outcome.ts'
import { backoffMs, scanAt, settleAt, showAt } from './schedule.ts'

export function afterAttempt(
  leased: Delivery,
  attempt: Attempt,
  end: AttemptEnd,
  around: Circumstances,
): Told {
  const delivery = free(leased)
  switch (end.what) {
    case 'sent':
      return attempt.action === 'remove'
        ? afterRemoval(delivery, attempt, around)
        : afterSent(delivery, attempt, end, around)
    case 'retry':
      return retryLater(delivery, end.trouble, end.after, around)
    case 'permanent':
      return refused(delivery, attempt, end.trouble, around)
    case 'rate_limited':
      return waitOut(delivery, end.until, around)
    case 'in_doubt':
      return putInDoubt(delivery, attempt, end, around)
    case 'not_sent':
      return { delivery: { ...delivery, dueAt: around.now }, audits: [] }
    case 'gone':
      return suspectLoss(delivery, end.trouble, around)
  }
}

export function afterFinding(leased: Delivery, finding: Finding, around: Circumstances): Told {
  const delivery = free(leased)
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
      return { delivery: postponed(delivery, finding.until, around), audits: [] }
    case 'invalid':
      return giveUp(delivery, finding.trouble, around)
    case 'budget':
      return waitOut(delivery, finding.until, around)
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
      memo: doubtful(delivery, action, startedAt),
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

function unsettled(delivery: Delivery, mayBeTwo: boolean, { now, rules }: Circumstances): Delivery {
  const marked = { ...delivery.memo, unsettled: true as const }
  const scan = mayBeTwo && canStandTwice(delivery) ? { step: 0, at: now + 1000 } : null
  const scanned = scan === null ? marked : withAppointment(marked, 'scan', scan)
  if (isOpen(delivery)) return { ...delivery, memo: scanned }
  const at = settleAt(0, now, rules)
  const settle = delivery.kind === 'state' && at !== null ? { step: 0, at } : null
  const memo = settle === null ? scanned : withAppointment(scanned, 'settle', settle)
  return withDue({ ...delivery, memo }, now)
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
        priority: isProgress(sent) ? 1 : 0,
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
  const { doubt: _doubt, lost: _lost, recreatedFrom: _from, ...memo } = delivery.memo
  if (memo.unsettled !== true) return { ...memo, looked: true }
  const at = settleAt(0, now, rules)
  const settle = delivery.kind === 'state' && at !== null ? { step: 0, at } : null
  const settled = withAppointment({ ...memo, looked: true }, 'settle', settle)
  const scan = scanAt(0, now, rules)
  const searches = action === 'create' && canStandTwice(delivery) && scan !== null
  return searches ? withAppointment(settled, 'scan', { step: 0, at: scan }) : settled
}

function counted({ channel }: Delivery, memo: Delivery['memo']): Delivery['memo'] {
  return channel === 'github-status' ? { ...memo, writes: (memo.writes ?? 0) + 1 } : memo
}

function sentAudits(before: Delivery, sent: Delivery, attempt: Attempt): AuditDraft[] {
  const { providerId, providerUrl } = sent
  const version = { fence: attempt.versionFence, seq: attempt.versionSeq }
  const facts = { action: attempt.action, attempt_id: attempt.id, version, provider_id: providerId }
  const audits = [tell(before, 'delivery.sent', { channel: before.channel, ...facts })]
  if (before.coalesced > 0) {
    audits.push(tell(before, 'delivery.coalesced', { versions: before.coalesced }))
  }
  if (before.name !== 'anchor') return audits
  const shown = { comment_id: providerId, url: providerUrl }
  if (attempt.action === 'edit') audits.push(tell(before, 'run.service_message.updated', shown))
  else if (before.memo.recreatedFrom === undefined) {
    audits.push(tell(before, 'run.anchor.created', shown))
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
  return { delivery: told, audits: [tell(delivery, 'run.anchor.deduplicated', data)] }
}

function retryLater(
  delivery: Delivery,
  trouble: Trouble,
  after: number | null,
  { now, jitter, rules }: Circumstances,
): Told {
  const tries = delivery.tries + 1
  const dueAt = Math.max(now + backoffMs(tries, jitter, rules), after ?? 0)
  if (isOpen(delivery) && dueAt > delivery.deadlineAt) return pastDeadline(delivery, trouble, now)
  const { code, text } = trouble
  const wait = isOpen(delivery) ? 'backoff' : null
  return {
    delivery: { ...delivery, tries, wait, dueAt, errorCode: code, errorText: text },
    audits: [tell(delivery, 'delivery.retry_scheduled', { ...trouble, tries, at: isoTime(dueAt) })],
  }
}

/** A look that came to nothing leaves the doubt as it was. */
function lookLater(
  delivery: Delivery,
  trouble: Trouble,
  after: number | null,
  around: Circumstances,
): Told {
  const told = retryLater(delivery, trouble, after, around)
  const { wait } = delivery
  return isOpen(told.delivery) ? { ...told, delivery: { ...told.delivery, wait } } : told
}

function pastDeadline(delivery: Delivery, trouble: Trouble, now: number): Told {
  const { code, text } = trouble
  const failed = close({ ...delivery, errorCode: code, errorText: text }, 'FAILED', 'deadline', now)
  return {
    delivery: failed,
    audits: [tell(delivery, 'delivery.failed', { reason: 'deadline', ...trouble })],
  }
}

function giveUp(delivery: Delivery, trouble: Trouble, { now }: Circumstances): Told {
  const { code, text } = trouble
  const known = { ...delivery, errorCode: code, errorText: text }
  // A closed one that cannot be followed up stays what it is.
  if (!isOpen(delivery)) {
    return { delivery: { ...withoutFollowUps(known), dueAt: null }, audits: [] }
  }
  return {
    delivery: close(known, 'FAILED', code, now),
    audits: [tell(delivery, 'delivery.failed', { reason: code, text })],
  }
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
  const priority = isProgress(delivery) ? 1 : 0
  return { ...delivery, wait: 'due', priority, dueAt: showAt(delivery, now, rules) }
}

function withoutFollowUps(delivery: Delivery): Delivery {
  const { scan: _scan, settle: _settle, surplus: _surplus, ...memo } = delivery.memo
  return { ...delivery, memo }
}

/** The identity is blocked, not this delivery: that costs no try and no time. */
function waitOut(delivery: Delivery, until: number, around: Circumstances): Told {
  return { delivery: postponed(delivery, until, around), audits: [] }
}

function postponed(delivery: Delivery, until: number, { now }: Circumstances): Delivery {
  const { wait, deadlineAt } = delivery
  const blockedMs = Math.max(0, until - now)
  const waitsForBudget = isOpen(delivery) && wait !== 'in_doubt'
  return {
    ...delivery,
    wait: waitsForBudget ? 'budget' : wait,
    dueAt: until,
    deadlineAt: deadlineAt + blockedMs,
  }
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
  const soonest = end.looks === 2 ? now : now + backoffMs(tries, jitter, rules)
  const dueAt = Math.max(soonest, after ?? 0)
  const known = { ...delivery, tries, dueAt, errorCode: code, errorText: text }
  const { action, startedAt } = attempt
  const audits = [
    tell(delivery, 'delivery.in_doubt', { ...trouble, action, attempt_id: attempt.id }),
  ]
  if (!isOpen(delivery)) return { delivery: known, audits }
  const memo = doubtful(delivery, action, startedAt)
  if (dueAt > delivery.deadlineAt) {
    const failed = pastDeadline({ ...delivery, memo }, trouble, now)
    return { ...failed, audits: [...audits, ...failed.audits] }
  }
  return { delivery: { ...known, wait: 'in_doubt', memo }, audits }
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

function closeUnchanged(delivery: Delivery, hash: string, { now }: Circumstances): Told {
  const { versionFence, versionSeq } = delivery
  const shown: Delivery = {
    ...delivery,
    announcedFence: versionFence,
    sentFence: versionFence,
    sentSeq: versionSeq,
    sentHash: hash,
    coalesced: 0,
    memo: withShown(delivery, delivery.memo),
  }
  const data = { versions: delivery.coalesced + 1, why: 'unchanged' }
  const audits = [tell(delivery, 'delivery.coalesced', data)]
  return { delivery: close(shown, 'SENT', null, now), audits }
}

const isoTime = (ms: number): string => new Date(ms).toISOString()
