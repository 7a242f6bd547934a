/**
 * What happened to a delivery, in words: a clause for each audit type that tells of one, and which
 * of them a story leaves out. The delivery lends its name where it is known; a row alone says as
 * much as it carries.
 */
import type { AuditRow, AuditType } from '../../domain/audit.ts'
import type { Delivery } from '../../domain/outbox/delivery.ts'
import { atStart, counted, numberOf, outside, quoted, shortSha, textOf } from './names.ts'

type Words = (row: AuditRow, about: DeliveryAbout) => string

interface DeliveryAbout {
  readonly delivery: NamedDelivery | null
  /** Who did it. */
  readonly who: string | null
}

/** As much of a delivery as it takes to name it, and to say what its newest version shows. */
export type NamedDelivery = Pick<
  Delivery,
  'id' | 'channel' | 'name' | 'content' | 'sha' | 'versionFence' | 'versionSeq'
>

type DeliveryType = Extract<
  AuditType,
  | `run.anchor.${string}`
  | `delivery.${string}`
  | `operator.delivery_${string}`
  | 'run.service_message.updated'
  | 'budget.blocked'
  | 'operator.identity_unblocked'
>

/** What was published; several of these in a row are one line. */
export const publishedTypes: ReadonlySet<AuditType> = new Set<AuditType>([
  'delivery.sent',
  'run.anchor.recreated',
])

/** The row of the sending says it already, and leads to these. */
const toldBySending = new Set<AuditType>(['run.anchor.created', 'run.service_message.updated'])
/** For whoever asks about the delivery itself, unless GitHub does not show it as it should. */
const detailTypes = new Set<AuditType>([
  'delivery.coalesced',
  'delivery.settled',
  'run.anchor.taken_over',
])

/** Whether the story leaves it out. */
export function isLeftOut(row: AuditRow, isOfOneDelivery: boolean): boolean {
  if (toldBySending.has(row.type)) return true
  return !isOfOneDelivery && detailTypes.has(row.type) && seenIn(row) === 'shown'
}

export const deliveryRowWords: Readonly<Record<DeliveryType, Words>> = {
  'run.service_message.updated': (row) => `comment${withId(row)} updated`,
  'run.anchor.created': (row) => `comment${withId(row)} created`,
  'run.anchor.adopted': (row) => `The comment${withId(row)} was already there; kept`,
  'run.anchor.lost': (row) => `Somebody deleted the comment${withId(row)}`,
  'run.anchor.recreated': (row) =>
    `comment ${id(row, 'new_id')} created, because ${id(row, 'old_id')} was deleted`,
  'run.anchor.deduplicated': (row) =>
    `The comment was there twice: ${id(row, 'removed')} was removed, ${id(row, 'kept')} was kept`,
  'run.anchor.taken_over': (row) =>
    `The comment${withId(row)} showed run ${id(row, 'from_run_id')} before`,
  'delivery.sent': sent,
  'delivery.retry_scheduled': (row, { delivery }) => {
    const at = textOf(row, 'at')
    const when = at === null ? 'now' : `at ${timeIn(at)}`
    return `${start(row, delivery)}: ${trouble(row)}; next try ${when}`
  },
  'delivery.in_doubt': (row, { delivery }) =>
    textOf(row, 'code') === 'unverified_marker'
      ? `${start(row, delivery)} is on hold: ${trouble(row)}`
      : `It is not known whether ${what(row, delivery)} arrived (${trouble(row)}). ` +
        'Holdfast checks GitHub before it sends it again',
  'delivery.confirmed': (row, { delivery }) =>
    row.data['current'] === false
      ? `${start(row, delivery)} was found on GitHub with older content`
      : `${start(row, delivery)} was found on GitHub: it had arrived`,
  'delivery.settled': (row, { delivery }) => `${start(row, delivery)} ${checkedAs(row)}`,
  'delivery.deduplicated': (row, { delivery }) =>
    `${start(row, delivery)} was there twice: ${id(row, 'removed')} was removed, ` +
    `${id(row, 'kept')} was kept`,
  'delivery.failed': (row, { delivery }) => {
    const reason = textOf(row, 'reason')
    return `${start(row, delivery)} failed: ${failedBecause(reason, textOf(row, 'text'))}`
  },
  'delivery.skipped': (row, { delivery }) =>
    `${start(row, delivery)} was skipped: ${skippedBecause(textOf(row, 'reason'))}`,
  'delivery.coalesced': (row, { delivery }) => {
    const versions = counted(numberOf(row, 'versions') ?? 1, 'version')
    return textOf(row, 'why') === 'unchanged'
      ? `${start(row, delivery)} needed no update for ${versions} with the same content`
      : `${start(row, delivery)}: ${versions} replaced by a newer one before sending`
  },
  'delivery.target_taken': (row, { delivery }) =>
    `${start(row, delivery)} was left as it is: it shows another run (${id(row, 'shown_run_id')})`,
  'budget.blocked': (row) =>
    `GitHub asked ${outside(textOf(row, 'identity') ?? 'us', 80)} to wait until ` +
    `${timeIn(textOf(row, 'until') ?? 'later')}${limitReason(row)}${askedFor(row)}`,
  'operator.identity_unblocked': (row, { who }) =>
    `${atStart(who ?? 'somebody')} removed the block of ` +
    outside(textOf(row, 'identity') ?? 'an identity', 80),
  'operator.delivery_retried': (row, { delivery, who }) =>
    `${atStart(who ?? 'somebody')} asked to send ${what(row, delivery)} again`,
  'operator.delivery_skipped': (row, { delivery, who }) => {
    const reason = textOf(row, 'reason')
    const because = reason === null ? '' : `: ${quoted(reason)}`
    return `${atStart(who ?? 'somebody')} skipped ${what(row, delivery)}${because}`
  },
  'operator.delivery_confirmed': (row, { delivery, who }) =>
    `${atStart(who ?? 'somebody')} confirmed that ${what(row, delivery)} had arrived`,
}

/** `comment 77 updated`, `commit status acme/review on 9c1185a: pending` */
function sent(row: AuditRow, { delivery }: DeliveryAbout): string {
  const id = textOf(row, 'provider_id')
  const isEdit = textOf(row, 'action') === 'edit'
  const channel = delivery?.channel ?? textOf(row, 'channel')
  const state = textOf(row, 'state') ?? stateOfNewest(row, delivery)
  const shows = state === null ? '' : `: ${outside(state, 40)}`
  const name = delivery === null ? bare(what(row, delivery)) : bare(deliveryName(delivery))
  if (channel === 'github-label') return `${name} ${state === 'absent' ? 'removed' : 'set'}`
  if (channel === 'github-status' || channel === 'github-check') return `${name}${shows}`
  const which = name === 'comment' && id !== null ? `comment ${outside(id, 60)}` : name
  return `${which} ${isEdit ? 'updated' : 'created'}`
}

const bare = (words: string): string => words.replace(/^(the|a) /, '')

/** Rows of older versions do not say it; the delivery does, if it was not changed since. */
function stateOfNewest(row: AuditRow, delivery: NamedDelivery | null): string | null {
  const version = row.data['version'] as { fence?: unknown; seq?: unknown } | undefined
  const { versionFence, versionSeq } = delivery ?? {}
  const isNewest = version?.fence === versionFence && version?.seq === versionSeq
  return delivery === null || !isNewest ? null : stateShown(delivery)
}

/** Of a status or check run: `pending`, `success`; null where it shows none. */
export function stateShown({ content }: Pick<Delivery, 'content'>): string | null {
  return fieldOf(content, 'conclusion') ?? fieldOf(content, 'state') ?? fieldOf(content, 'status')
}

/** `12:05:02 UTC` */
const timeIn = (iso: string): string =>
  /^\d{4}-\d\d-\d\dT/.test(iso) ? `${iso.slice(11, 19)} UTC` : outside(iso, 40)

/** What GitHub was last seen to show. `other`: it was changed or removed there. */
export type LastSeen = 'shown' | 'other' | 'unknown'

const sightings = new Set<AuditType>([
  'delivery.sent',
  'delivery.confirmed',
  'operator.delivery_confirmed',
  'delivery.settled',
])

/** The rows are oldest first. Where the audit is gone, it was sent. */
export function lastSeen({ id }: Pick<Delivery, 'id'>, rows: readonly AuditRow[]): LastSeen {
  const last = rows.findLast(({ deliveryId, type }) => deliveryId === id && sightings.has(type))
  return last === undefined ? 'shown' : seenIn(last)
}

function seenIn({ type, data: { shows } }: AuditRow): LastSeen {
  if (type !== 'delivery.settled') return 'shown'
  if (shows === null) return 'unknown'
  return shows === false ? 'other' : 'shown'
}

/** `the comment`, `the commit status holdfast/review on 9c1185a`, `the review findings` */
export function deliveryName({ channel, name, content, sha }: NamedDelivery): string {
  const onCommit = sha === null ? '' : ` on ${shortSha(sha)}`
  switch (channel) {
    case 'github-comment':
      return name === 'anchor' ? 'the comment' : `the comment ${outside(name, 100)}`
    case 'github-status':
      return `the commit status ${fieldOf(content, 'context') ?? outside(name, 100)}${onCommit}`
    case 'github-check':
      return `${checkWord(name)} ${fieldOf(content, 'name') ?? outside(name, 100)}${onCommit}`
    case 'github-label':
      return `the label ${quoted(fieldOf(content, 'label') ?? name)}`
    case 'github-review':
      return `the review ${outside(name, 100)}`
    default:
      return `the message ${outside(name, 100)}`
  }
}

/** The result of an earlier run was covered by another's check run, and was said once more. */
const checkWord = (name: string): string =>
  name === 'check again' ? 'the repeated check run' : 'the check run'

const channelNames: Readonly<Record<string, string>> = {
  'github-comment': 'a comment',
  'github-status': 'a commit status',
  'github-check': 'a check run',
  'github-label': 'a label',
  'github-review': 'a review',
}

const start = (row: AuditRow, delivery: NamedDelivery | null): string =>
  atStart(what(row, delivery))

function what(row: AuditRow, delivery: NamedDelivery | null): string {
  if (delivery !== null) return deliveryName(delivery)
  const channel = textOf(row, 'channel')
  if (channel !== null && Object.hasOwn(channelNames, channel)) {
    return channelNames[channel] ?? channel
  }
  const { deliveryId } = row
  return deliveryId === null || deliveryId === undefined
    ? 'something'
    : `delivery ${outside(deliveryId, 60)}`
}

function fieldOf(content: string, field: string): string | null {
  const value = (JSON.parse(content) as Readonly<Record<string, unknown>>)[field]
  return typeof value === 'string' ? outside(value, 100) : null
}

function checkedAs(row: AuditRow): string {
  const { shows } = row.data
  if (shows === null) return `could not be checked in time (${trouble(row)})`
  if (shows === false) return 'was changed or removed on GitHub; Holdfast leaves it as it is'
  return 'was checked: GitHub shows the newest version'
}

function withId(row: AuditRow): string {
  const shown = textOf(row, 'comment_id')
  return shown === null ? '' : ` ${outside(shown, 60)}`
}

const id = (row: AuditRow, field: string): string => outside(textOf(row, field) ?? 'another', 60)

function trouble(row: AuditRow): string {
  const code = textOf(row, 'code')
  return outside(textOf(row, 'text') ?? code ?? 'the reason is not known')
}

function limitReason(row: AuditRow): string {
  const reason = textOf(row, 'reason')
  return reason === null ? '' : ` (${outside(reason)})`
}

const limitedWhile: Readonly<Record<string, string>> = {
  publisher: 'publishing',
  intake: 'deciding on a webhook',
  'catch-up': 'looking for missed webhooks',
}

function askedFor({ actor }: AuditRow): string {
  const what = limitedWhile[actor]
  return what === undefined ? '' : `, while ${what}`
}

export function failedBecause(reason: string | null, text: string | null): string {
  const said = text === null ? null : outside(text)
  if (reason === 'deadline') {
    return said === null
      ? 'GitHub did not accept it in time (deadline)'
      : `GitHub did not accept it in time (deadline); the last answer: ${said}`
  }
  const code = reason === null ? null : outside(reason, 64)
  if (said === null) return code ?? 'the reason is not known'
  return code === null ? said : `${said} (${code})`
}

const skips: Readonly<Record<string, string>> = {
  never_announced: 'its run ended before anything was shown (never_announced)',
  anchor_removed: 'somebody deleted it twice (anchor_removed)',
  target_taken: 'a newer run shows its result there (target_taken)',
}

/** An operator's own words are quoted. */
export function skippedBecause(reason: string | null): string {
  if (reason === null) return 'the reason is not known'
  return Object.hasOwn(skips, reason) ? (skips[reason] ?? reason) : quoted(reason)
}
