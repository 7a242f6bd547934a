/** What a look at the other side means for a delivery: confirm, lost anchor, scan, settle. */
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
/** Then it is left as it is: writing it once more would only be overwritten once more. */
const rewritesMax = 5

/** For what we may have sent, or what may have stood there before our time. */
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
  // A value that is not there has not been set yet; nobody need have taken it off.
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
    // A first failure is looked for after the set delay; only further ones take longer.
    const dueAt = now + (delivery.tries <= 1 ? rules.confirmDelayMs : waitMs)
    return { delivery: { ...again, dueAt }, audits: [] }
  }
  return sendAgain(delivery, doubt, look.isTurn === true, around)
}

/** Not there, however long we looked: it may be sent again. */
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
  const known = withScan(sent, doubt.action, around)
  return { delivery: { ...known, wait: 'due', dueAt: around.now }, audits: [] }
}

/** Its channel cannot be looked at, and has it sent again without an answer. */
export function resendUnconfirmed(delivery: Delivery, around: Circumstances): DeliveryChange {
  const { doubt } = delivery.protocol
  if (doubt === undefined) return { delivery: { ...delivery, dueAt: around.now }, audits: [] }
  return sendAgain(delivery, doubt, false, around)
}

/** Its channel cannot be looked at: a person says whether it arrived. */
export function holdInDoubt(delivery: Delivery): DeliveryChange {
  return hold(delivery, { code: 'in_doubt', text: 'it may have arrived; nobody can look' })
}

/** One that is completed stays as it ended: it says of no work that it goes on. */
function mayShowWork(copies: readonly FoundOutput[]): readonly FoundOutput[] {
  return copies.filter(({ atWork }) => atWork !== false)
}

const notThere = { code: 'not_there', text: 'it was looked for and is not there' }

/** Whichever of the two is heard of or found first, the other may arrive beside it. */
function withScan(
  delivery: Delivery,
  action: AttemptAction,
  { now, rules, channel }: Circumstances,
): Delivery {
  const at = scanAt(0, now, rules)
  if (action !== 'create' || channel.keptCopy === null || at === null) return delivery
  return { ...delivery, protocol: withPlannedRead(delivery.protocol, 'scan', { step: 0, at }) }
}

/** An edit nobody answered, and what it was to edit is not there. */
function suspectLost(delivery: Delivery, now: number): DeliveryChange {
  const { doubt: _doubt, ...protocol } = delivery.protocol
  return {
    delivery: { ...delivery, protocol: { ...protocol, lost: { looks: 0 } }, dueAt: now },
    audits: [],
  }
}

/** Why a delivery is held: what is there has a marker of ours that no key verifies. */
export const unverifiedMarker = 'unverified_marker'

/** Somebody wrote our key under our name, and no key of ours signed it: a person has to look. */
const unverified = { code: unverifiedMarker, text: 'a comment of ours has a marker nobody signed' }

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
  const found =
    delivery.providerId === kept.providerId ? protocol : withWriteCounted(around.channel, protocol)
  const surplus = copies.map(({ providerId }) => providerId)
  const known: Delivery = {
    ...delivery,
    providerId: kept.providerId,
    providerUrl: kept.url ?? delivery.providerUrl,
    announcedFence: delivery.versionFence,
    // The look may have been for an older version: what stands there may be the newer one's words.
    sentHash: kept.hash ?? delivery.sentHash,
    protocol: { ...found, looked: true, ...(surplus.length > 0 && { surplus }) },
  }
  const audits = adoptAudits(delivery, kept, doubt !== undefined)
  if (!kept.current && doubt !== undefined && hasNoRetriesLeft(delivery, around.rules)) {
    const change = failWithoutRetries(
      known,
      { code: 'not_current', text: 'it shows something older' },
      around,
    )
    return { ...change, audits: [...audits, ...change.audits] }
  }
  if (!kept.current) return { delivery: { ...known, wait: 'due', dueAt: now }, audits }
  const { versionFence, versionSeq } = delivery
  const shown: Delivery = {
    ...known,
    sentFence: versionFence,
    sentSeq: versionSeq,
    sentHash: hash,
    sentAt: now,
    shownSince: delivery.shownSince ?? now,
    coalesced: 0,
    errorCode: null,
    errorText: null,
    protocol: withShowsWork(known, withoutFailedSends(withSettling(known, around))),
  }
  return { delivery: close(shown, 'SENT', null, now), audits }
}

function withoutFailedSends(protocol: Delivery['protocol']): Delivery['protocol'] {
  const { failedSends: _sends, unclear: _unclear, ...rest } = protocol
  return rest
}

/** What may come late, now or since a restore, is read again. */
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
  // Nothing is sent where it stands as it should: only this row says why it is closed.
  const isConfirmed = wasInDoubt || (kept.current && !isAdopted)
  const adopted = { comment_id: kept.providerId, url: kept.url, old_id: delivery.providerId }
  return [
    ...(isConfirmed ? [auditOf(delivery, 'delivery.confirmed', data)] : []),
    ...(isAdopted ? [auditOf(delivery, 'run.anchor.adopted', adopted)] : []),
  ]
}

/** Twice gone, a delay apart, while the thread is there: somebody deleted it. */
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

/** It is there, and yet GitHub says of every edit that it is not: we may not change it. */
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
  const known = { ...protocol, looked: true as const, recreatedFence: versionFence, ...recreated }
  return { delivery: reopen({ ...without, protocol: known }, now), audits: lost }
}

/** Rule 6: of two the lower id is kept and brought up to date, then the other removed. */
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
  // A newer one shows instead of the one that we know, though that is completed.
  const isAnother = others.length > 0 && kept?.providerId !== delivery.providerId
  if (kept === undefined || (copies.length === 0 && !isAnother)) {
    return { delivery: withFollowUpDue({ ...delivery, protocol }, now), audits: [] }
  }
  const surplus = copies.map(({ providerId }) => providerId)
  const known: Delivery = {
    ...delivery,
    providerId: kept.providerId,
    providerUrl: kept.url ?? delivery.providerUrl,
    protocol: { ...protocol, ...(surplus.length > 0 && { surplus }) },
  }
  if (kept.current || delivery.kind === 'message') {
    return { delivery: withFollowUpDue(known, now), audits: [] }
  }
  return { delivery: reopenUnlessGivenUp(known, now), audits: [] }
}

/** Read twice after the last success, it shows the newest version: nothing late is to be feared. */
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
  // Not all at once after a clock that was set ahead: what comes late comes by GitHub's time.
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

/** Given up, it stays so; but what a restored store finds at work there is closed. */
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

/** After a restore it may be another one that shows: a later round's, which nobody would close. */
function idOfFound(delivery: Delivery, shown: FoundOutput | undefined): Partial<Delivery> {
  if (shown === undefined || delivery.protocol.restored === undefined) return {}
  return { providerId: shown.providerId, providerUrl: shown.url ?? delivery.providerUrl }
}

/** What was removed while nobody knew of it stays away: whoever removed it saw how it ended. */
function settled(delivery: Delivery, shows: boolean, now: number): DeliveryChange {
  const cleared = withPlannedRead(delivery.protocol, 'settle', null)
  const { unsettled: _unsettled, rewrites: _rewrites, restored: _restored, ...protocol } = cleared
  const data = { provider_id: delivery.providerId, shows }
  return {
    delivery: withFollowUpDue({ ...delivery, protocol }, now),
    audits: [auditOf(delivery, 'delivery.settled', data)],
  }
}

/** Only an operator or a newer version takes it up again, whatever stands there. */
const isGivenUp = ({ status }: Delivery): boolean => status === 'FAILED' || status === 'SKIPPED'

/** The same version once more: what stands there is not it. */
function reopenUnlessGivenUp(delivery: Delivery, now: number): Delivery {
  return isGivenUp(delivery) ? withFollowUpDue(delivery, now) : reopenForSending(delivery, now)
}

function reopenForSending(delivery: Delivery, now: number): Delivery {
  return { ...reopen(delivery, now), sentHash: null }
}
