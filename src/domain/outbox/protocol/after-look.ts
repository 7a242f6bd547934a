/** What follows from a look: confirm, lost anchor, scan, settle. */
import type { AuditDraft } from '../../audit.ts'
import type { AttemptAction, Delivery, Doubt } from '../delivery.ts'
import {
  close,
  withWriteCounted,
  reopen,
  mayArriveLate,
  withPlannedRead,
  withFollowUpDue,
  withShowsWork,
} from './follow-up.ts'
import type { Circumstances, DeliveryChange, Finding, FoundOutput, Trouble } from '../outcome.ts'
import { auditOf } from '../outcome.ts'
import { wasNeverShown } from '../restored.ts'
import { backoffMs, retryRulesOf, scanAt, settleAt } from '../schedule.ts'
import { failWithoutRetries, hasNoRetriesLeft } from './retry-later.ts'

const looksBeforeLost = 2
/** After so many, it is left as it is: somebody else keeps overwriting it. */
const rewritesMax = 5

/** After a look for an unanswered send, or for an output from before this store existed. */
export function afterLook(
  delivery: Delivery,
  look: Extract<Finding, { what: 'looked' }>,
  around: Circumstances,
): DeliveryChange {
  const { now } = around
  if (look.unverified) return hold(delivery, unverified)
  const [kept, ...copies] = look.found
  if (kept !== undefined) return adopt(delivery, kept, mayShowWork(copies), look.hash, around)
  const { doubt, ...protocol } = delivery.protocol
  if (doubt === undefined) {
    const looked = { ...delivery, protocol: { ...protocol, looked: true as const } }
    return { delivery: { ...looked, wait: 'due', dueAt: now }, audits: [] }
  }
  // If a value is missing, it was not set yet. It need not have been removed by somebody.
  if (doubt.action === 'edit' && around.channel.replacedBy !== 'set')
    return suspectLost(delivery, now)
  const looks = doubt.looks + 1
  if (looks < look.looks) {
    const { rules, jitter } = around
    const waitMs = Math.max(
      rules.confirmDelayMs,
      backoffMs(delivery.tries, jitter, retryRulesOf(delivery, rules)),
    )
    const again = { ...delivery, protocol: { ...protocol, doubt: { ...doubt, looks } } }
    // After the first failure the look comes after the fixed delay. After more failures it comes
    // later.
    const dueAt = now + (delivery.tries <= 1 ? rules.confirmDelayMs : waitMs)
    return { delivery: { ...again, dueAt }, audits: [] }
  }
  return sendAgain(delivery, doubt, look.isTurn === true, around)
}

/** Enough looks did not find it, so it may be sent again. */
function sendAgain(
  delivery: Delivery,
  doubt: Doubt,
  isTurn: boolean,
  around: Circumstances,
): DeliveryChange {
  if (hasNoRetriesLeft(delivery, around.rules))
    return failWithoutRetries(delivery, notThere, around)
  const { doubt: _looked, ...protocol } = delivery.protocol
  const sought = { ...doubt, ...(isTurn && { isTurn: true as const }) }
  const sent = { ...delivery, protocol: { ...protocol, looked: true as const, sought } }
  const withScanPlanned = withScan(sent, doubt.action, around)
  return { delivery: { ...withScanPlanned, wait: 'due', dueAt: around.now }, audits: [] }
}

/** The channel has no look, and its policy is to send again. */
export function resendUnconfirmed(delivery: Delivery, around: Circumstances): DeliveryChange {
  const { doubt } = delivery.protocol
  if (doubt === undefined) return { delivery: { ...delivery, dueAt: around.now }, audits: [] }
  return sendAgain(delivery, doubt, false, around)
}

/** The channel has no look, and its policy is that a person decides. */
export function holdInDoubt(delivery: Delivery): DeliveryChange {
  return hold(delivery, { code: 'in_doubt', text: 'it may have arrived; we cannot check' })
}

/** A completed copy may stay, because it does not show work in progress. */
function mayShowWork(copies: readonly FoundOutput[]): readonly FoundOutput[] {
  return copies.filter(({ atWork }) => atWork !== false)
}

const notThere = { code: 'not_there', text: 'it was looked for and is not there' }

/** It was sent twice. Whichever arrives first, the other one may still arrive. */
function withScan(
  delivery: Delivery,
  action: AttemptAction,
  { now, rules, channel }: Circumstances,
): Delivery {
  const at = scanAt(0, now, rules)
  if (action !== 'create' || channel.keptCopy === null || at === null) return delivery
  return { ...delivery, protocol: withPlannedRead(delivery.protocol, 'scan', { step: 0, at }) }
}

/** An edit had no answer, and the output to edit is not there. */
function suspectLost(delivery: Delivery, now: number): DeliveryChange {
  const { doubt: _doubt, ...protocol } = delivery.protocol
  return {
    delivery: { ...delivery, protocol: { ...protocol, lost: { looks: 0 } }, dueAt: now },
    audits: [],
  }
}

/** Why a delivery is held: our account wrote a marker there that none of our keys verifies. */
export const unverifiedMarker = 'unverified_marker'

/** A person has to check who wrote it. */
const unverified = { code: unverifiedMarker, text: 'our account wrote a marker that no key signed' }

function hold(delivery: Delivery, { code, text }: Trouble): DeliveryChange {
  const held: Delivery = {
    ...delivery,
    wait: 'held',
    dueAt: null,
    errorCode: code,
    errorText: text,
  }
  return { delivery: held, audits: [auditOf(delivery, 'delivery.in_doubt', { code, text })] }
}

function adopt(
  delivery: Delivery,
  kept: FoundOutput,
  copies: readonly FoundOutput[],
  hash: string,
  around: Circumstances,
): DeliveryChange {
  const { now } = around
  const { doubt, sought: _sought, lost: _lost, ...protocol } = delivery.protocol
  const foundProtocol =
    delivery.providerId === kept.providerId ? protocol : withWriteCounted(around.channel, protocol)
  const surplus = copies.map(({ providerId }) => providerId)
  const adopted: Delivery = {
    ...delivery,
    providerId: kept.providerId,
    providerUrl: kept.url ?? delivery.providerUrl,
    announcedFence: delivery.versionFence,
    // The look may have been for an older version, but a newer version may be shown.
    sentHash: kept.hash ?? delivery.sentHash,
    protocol: { ...foundProtocol, looked: true, ...(surplus.length > 0 && { surplus }) },
  }
  const audits = adoptAudits(delivery, kept, doubt !== undefined)
  if (!kept.current && doubt !== undefined && hasNoRetriesLeft(delivery, around.rules)) {
    const change = failWithoutRetries(
      adopted,
      { code: 'not_current', text: 'it shows something older' },
      around,
    )
    return { ...change, audits: [...audits, ...change.audits] }
  }
  if (!kept.current) return { delivery: { ...adopted, wait: 'due', dueAt: now }, audits }
  const { versionFence, versionSeq } = delivery
  const shown: Delivery = {
    ...adopted,
    sentFence: versionFence,
    sentSeq: versionSeq,
    sentHash: hash,
    sentAt: now,
    shownSince: delivery.shownSince ?? now,
    coalesced: 0,
    errorCode: null,
    errorText: null,
    protocol: withShowsWork(adopted, withoutFailedSends(withSettling(adopted, around))),
  }
  return { delivery: close(shown, 'SENT', null, now), audits }
}

function withoutFailedSends(protocol: Delivery['protocol']): Delivery['protocol'] {
  const { failedSends: _sends, unclear: _unclear, ...rest } = protocol
  return rest
}

/** If something may arrive late, the target is read again. */
export function withSettling(
  delivery: Delivery,
  { now, rules }: Circumstances,
): Delivery['protocol'] {
  const at = settleAt(0, now, rules)
  const isRead = mayArriveLate(delivery) && delivery.kind === 'state' && at !== null
  return isRead ? withPlannedRead(delivery.protocol, 'settle', { step: 0, at }) : delivery.protocol
}

function adoptAudits(delivery: Delivery, kept: FoundOutput, wasInDoubt: boolean): AuditDraft[] {
  const data = { provider_id: kept.providerId, current: kept.current }
  const isNew = delivery.providerId !== kept.providerId
  const isAdopted = isNew && delivery.name === 'anchor'
  // If it is already right, nothing is sent. Only this row says why the delivery is closed.
  const isConfirmed = wasInDoubt || (kept.current && !isAdopted)
  const adopted = { comment_id: kept.providerId, url: kept.url, old_id: delivery.providerId }
  return [
    ...(isConfirmed ? [auditOf(delivery, 'delivery.confirmed', data)] : []),
    ...(isAdopted ? [auditOf(delivery, 'run.anchor.adopted', adopted)] : []),
  ]
}

/** If two looks did not find it, but the thread is there, somebody deleted it. */
export function afterExamination(
  delivery: Delivery,
  { there, placeIsThere }: Extract<Finding, { what: 'examined' }>,
  { now, rules, jitter }: Circumstances,
): DeliveryChange {
  const { lost, ...protocol } = delivery.protocol
  if (there) {
    const tries = delivery.tries + 1
    const dueAt = now + backoffMs(tries, jitter, retryRulesOf(delivery, rules))
    if (dueAt > delivery.deadlineAt) return failNeverEdited({ ...delivery, protocol }, now)
    return { delivery: { ...delivery, protocol, tries, wait: 'backoff', dueAt }, audits: [] }
  }
  if (!placeIsThere) {
    const data = { reason: 'not_found', text: 'neither it nor its thread can be seen' }
    const failed = close(
      { ...delivery, protocol, errorCode: 'not_found' },
      'FAILED',
      'not_found',
      now,
    )
    return { delivery: failed, audits: [auditOf(delivery, 'delivery.failed', data)] }
  }
  const looks = (lost?.looks ?? 0) + 1
  if (looks < looksBeforeLost) {
    const dueAt = now + rules.confirmDelayMs
    return {
      delivery: { ...delivery, protocol: { ...protocol, lost: { looks } }, dueAt },
      audits: [],
    }
  }
  return recreateOrSkip({ ...delivery, protocol }, now)
}

/** It is there, but GitHub answers "not found" to every edit: we may not change it. */
function failNeverEdited(delivery: Delivery, now: number): DeliveryChange {
  const data = { reason: 'deadline', code: delivery.errorCode, text: delivery.errorText }
  return {
    delivery: close(delivery, 'FAILED', 'deadline', now),
    audits: [auditOf(delivery, 'delivery.failed', data)],
  }
}

function recreateOrSkip(delivery: Delivery, now: number): DeliveryChange {
  const { providerId, versionFence, protocol } = delivery
  const lost =
    delivery.name === 'anchor'
      ? [auditOf(delivery, 'run.anchor.lost', { comment_id: providerId })]
      : []
  const without = { ...delivery, providerId: null, providerUrl: null, sentHash: null }
  if (protocol.recreatedFence === versionFence) {
    const gone = { ...without, protocol: { ...protocol, removedFence: versionFence } }
    const data = { reason: 'anchor_removed', comment_id: providerId }
    return {
      delivery: close(gone, 'SKIPPED', 'anchor_removed', now),
      audits: [...lost, auditOf(delivery, 'delivery.skipped', data)],
    }
  }
  const recreated = providerId === null ? {} : { recreatedFrom: providerId }
  const next = { ...protocol, looked: true as const, recreatedFence: versionFence, ...recreated }
  return { delivery: reopen({ ...without, protocol: next }, now), audits: lost }
}

/** Rule 6: of two, the one with the lower id is kept and updated, then the other one is removed. */
export function afterScan(
  delivery: Delivery,
  found: readonly FoundOutput[],
  { now, rules }: Circumstances,
): DeliveryChange {
  const [kept, ...others] = found
  const copies = mayShowWork(others)
  const step = (delivery.protocol.scan?.step ?? 0) + 1
  const at = scanAt(step, now, rules)
  const protocol = withPlannedRead(delivery.protocol, 'scan', at === null ? null : { step, at })
  // GitHub shows a newer one than the one that we know, even if it is completed.
  const isAnother = others.length > 0 && kept?.providerId !== delivery.providerId
  if (kept === undefined || (copies.length === 0 && !isAnother)) {
    return { delivery: withFollowUpDue({ ...delivery, protocol }, now), audits: [] }
  }
  const surplus = copies.map(({ providerId }) => providerId)
  const adopted: Delivery = {
    ...delivery,
    providerId: kept.providerId,
    providerUrl: kept.url ?? delivery.providerUrl,
    protocol: { ...protocol, ...(surplus.length > 0 && { surplus }) },
  }
  if (kept.current || delivery.kind === 'message') {
    return { delivery: withFollowUpDue(adopted, now), audits: [] }
  }
  return { delivery: reopenUnlessGivenUp(adopted, now), audits: [] }
}

/**
 * If the reads after the last success all show the newest version, nothing can arrive late any
 * more.
 */
export function afterSettle(
  delivery: Delivery,
  found: readonly FoundOutput[],
  { now, rules, channel }: Circumstances,
): DeliveryChange {
  if (isGivenUp(delivery)) return afterReadOfClosed(delivery, found, now)
  const shown = found.at(-1)
  const wasReadAgain = delivery.protocol.restored !== undefined
  const mayBeRemoved = shown === undefined && wasReadAgain && channel.peopleCanRemove
  if (mayBeRemoved && delivery.final) return settled(delivery, false, now)
  const isLostThere = channel.peopleCanRemove && channel.replacedBy === 'edit'
  if (shown === undefined && isLostThere) {
    const lost = { ...delivery.protocol, lost: { looks: 1 } }
    const protocol = withPlannedRead(lost, 'settle', null)
    const gone = {
      ...reopenUnlessGivenUp({ ...delivery, protocol }, now),
      wait: 'in_doubt' as const,
    }
    return { delivery: { ...gone, dueAt: now + rules.confirmDelayMs }, audits: [] }
  }
  const rewrites = (delivery.protocol.rewrites ?? 0) + 1
  if (shown?.current !== true && rewrites <= rewritesMax) {
    const protocol = { ...withPlannedRead(delivery.protocol, 'settle', null), rewrites }
    const data = { code: 'not_shown', text: 'it does not show the newest version' }
    return {
      delivery: reopenUnlessGivenUp({ ...delivery, ...idOfFound(delivery, shown), protocol }, now),
      audits: [auditOf(delivery, 'delivery.retry_scheduled', data)],
    }
  }
  const step = (delivery.protocol.settle?.step ?? 0) + 1
  const at = settleAt(step, delivery.sentAt ?? now, rules)
  // The pause must also be kept after the clock was set ahead: a late request arrives by GitHub's
  // time.
  const { [step - 1]: before = 0, [step]: next = 0 } = rules.settleAfterMs
  const pauseMs = next - before
  if (at !== null && shown?.current === true) {
    const protocol = withPlannedRead(delivery.protocol, 'settle', {
      step,
      at: Math.max(at, now + pauseMs),
    })
    return { delivery: withFollowUpDue({ ...delivery, protocol }, now), audits: [] }
  }
  return settled(delivery, shown?.current === true, now)
}

/** It stays given up. But after a restore, work in progress that is found there must be closed. */
function afterReadOfClosed(
  delivery: Delivery,
  found: readonly FoundOutput[],
  now: number,
): DeliveryChange {
  const { restored, ...protocol } = withPlannedRead(delivery.protocol, 'settle', null)
  const shown = found.find(({ atWork, current }) => atWork ?? !current)
  if (restored === undefined || !wasNeverShown(delivery) || shown === undefined) {
    return { delivery: withFollowUpDue({ ...delivery, protocol }, now), audits: [] }
  }
  const { providerId, url: providerUrl } = shown
  const data = { code: 'not_shown', text: 'it shows work under way' }
  return {
    delivery: reopenForSending({ ...delivery, protocol, providerId, providerUrl }, now),
    audits: [auditOf(delivery, 'delivery.retry_scheduled', data)],
  }
}

/**
 * After a restore GitHub may show a later round's output instead. Nobody else would close that one.
 */
function idOfFound(delivery: Delivery, shown: FoundOutput | undefined): Partial<Delivery> {
  if (shown === undefined || delivery.protocol.restored === undefined) return {}
  return { providerId: shown.providerId, providerUrl: shown.url ?? delivery.providerUrl }
}

/**
 * An output that was removed after the copy was made is not created again: whoever removed it saw
 * how the run ended.
 */
function settled(delivery: Delivery, shows: boolean, now: number): DeliveryChange {
  const cleared = withPlannedRead(delivery.protocol, 'settle', null)
  const { unsettled: _unsettled, rewrites: _rewrites, restored: _restored, ...protocol } = cleared
  const data = { provider_id: delivery.providerId, shows }
  return {
    delivery: withFollowUpDue({ ...delivery, protocol }, now),
    audits: [auditOf(delivery, 'delivery.settled', data)],
  }
}

/** Only an operator or a newer version can reopen it, whatever GitHub shows. */
const isGivenUp = ({ status }: Delivery): boolean => status === 'FAILED' || status === 'SKIPPED'

/** Sends the same version again, because GitHub does not show it. */
function reopenUnlessGivenUp(delivery: Delivery, now: number): Delivery {
  return isGivenUp(delivery) ? withFollowUpDue(delivery, now) : reopenForSending(delivery, now)
}

function reopenForSending(delivery: Delivery, now: number): Delivery {
  return { ...reopen(delivery, now), sentHash: null }
}
