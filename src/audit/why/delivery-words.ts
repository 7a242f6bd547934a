/**
 * What happened to a delivery, in words: a clause for each audit type that tells of one. The
 * delivery lends its name where it is known; a row that stands alone says as much as it carries.
 */
import type { AuditRow, AuditType } from '../../domain/audit.ts'
import type { Delivery } from '../../domain/outbox/delivery.ts'
import {
  actorWords,
  atStart,
  counted,
  numberOf,
  outside,
  quoted,
  shortSha,
  textOf,
} from './plain-words.ts'

type Words = (row: AuditRow, delivery: NamedDelivery | null) => string

/** As much of a delivery as it takes to call it something. */
export type NamedDelivery = Pick<Delivery, 'id' | 'channel' | 'name' | 'content' | 'sha'>

type DeliveryType = Extract<
  AuditType,
  | `run.anchor.${string}`
  | `delivery.${string}`
  | `operator.delivery_${string}`
  | 'run.service_message.updated'
  | 'budget.blocked'
  | 'operator.identity_unblocked'
>

export const deliveryRowWords: Readonly<Record<DeliveryType, Words>> = {
  'run.service_message.updated': (row) => `the comment${withId(row)} was brought up to date`,
  'run.anchor.created': (row) => `the comment${withId(row)} was made`,
  'run.anchor.adopted': (row) => `the comment${withId(row)} was found to stand there and was kept`,
  'run.anchor.lost': (row) => `somebody had deleted the comment${withId(row)}`,
  'run.anchor.recreated': (row) =>
    `the comment was made once more as ${id(row, 'new_id')}, ` +
    `because ${id(row, 'old_id')} had been deleted`,
  'run.anchor.deduplicated': (row) =>
    `a second copy of the comment, ${id(row, 'removed')}, was removed; ` +
    `${id(row, 'kept')} was kept`,
  'run.anchor.taken_over': (row) =>
    `the comment${withId(row)} was taken over from run ${id(row, 'from_run_id')}`,
  'delivery.sent': (row, delivery) => `${what(row, delivery)} was ${sentAs(row)}`,
  'delivery.retry_scheduled': (row, delivery) => {
    const at = textOf(row, 'at')
    const when = at === null ? 'at once' : `at ${outside(at, 40)}`
    return `${what(row, delivery)} did not go through (${trouble(row)}); it is tried again ${when}`
  },
  'delivery.in_doubt': (row, delivery) =>
    textOf(row, 'code') === 'unverified_marker'
      ? `${what(row, delivery)} was held: ${trouble(row)}`
      : `nobody knows whether ${what(row, delivery)} arrived (${trouble(row)}); ` +
        'GitHub is asked before it is sent again',
  'delivery.confirmed': (row, delivery) =>
    row.data['current'] === false
      ? `${what(row, delivery)} was found on GitHub, showing something older`
      : `${what(row, delivery)} was found on GitHub: it had arrived`,
  'delivery.settled': (row, delivery) => `${what(row, delivery)} ${settledAs(row)}`,
  'delivery.deduplicated': (row, delivery) =>
    `a second copy of ${what(row, delivery)}, ${id(row, 'removed')}, was removed; ` +
    `${id(row, 'kept')} was kept`,
  'delivery.failed': (row, delivery) => {
    const reason = textOf(row, 'reason')
    return `${what(row, delivery)} was given up: ${failedBecause(reason, textOf(row, 'text'))}`
  },
  'delivery.skipped': (row, delivery) =>
    `${what(row, delivery)} was skipped: ${skippedBecause(textOf(row, 'reason'))}`,
  'delivery.coalesced': (row, delivery) => {
    const versions = counted(numberOf(row, 'versions') ?? 1, 'version')
    return textOf(row, 'why') === 'unchanged'
      ? `${what(row, delivery)} shows ${versions} more, which changed nothing on GitHub`
      : `${what(row, delivery)} left out ${versions} that a newer one had replaced by then`
  },
  'delivery.target_taken': (row, delivery) =>
    `${what(row, delivery)} was not changed: it shows run ${id(row, 'shown_run_id')}`,
  'budget.blocked': (row) =>
    `GitHub told ${outside(textOf(row, 'identity') ?? 'us', 80)} to wait until ` +
    `${outside(textOf(row, 'until') ?? 'later', 40)}${limitReason(row)}${askedFor(row)}`,
  'operator.identity_unblocked': (row) =>
    `${atStart(actorWords(row.actor))} lifted the block of ` +
    outside(textOf(row, 'identity') ?? 'an identity', 80),
  'operator.delivery_retried': (row, delivery) =>
    `${atStart(actorWords(row.actor))} asked for ${what(row, delivery)} to be sent again`,
  'operator.delivery_skipped': (row, delivery) => {
    const reason = textOf(row, 'reason')
    const because = reason === null ? '' : `, because ${quoted(reason)}`
    return `${atStart(actorWords(row.actor))} had ${what(row, delivery)} skipped${because}`
  },
  'operator.delivery_confirmed': (row, delivery) =>
    `${atStart(actorWords(row.actor))} said that ${what(row, delivery)} had arrived`,
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
      return `the label ${fieldOf(content, 'label') ?? outside(name, 100)}`
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

function what(row: AuditRow, delivery: NamedDelivery | null): string {
  if (delivery !== null) return deliveryName(delivery)
  const channel = textOf(row, 'channel')
  if (channel !== null && Object.hasOwn(channelNames, channel)) {
    return channelNames[channel] ?? channel
  }
  const { deliveryId } = row
  return deliveryId === null || deliveryId === undefined
    ? 'something to be shown'
    : `delivery ${outside(deliveryId, 60)}`
}

function fieldOf(content: string, field: string): string | null {
  const value = (JSON.parse(content) as Readonly<Record<string, unknown>>)[field]
  return typeof value === 'string' ? outside(value, 100) : null
}

function settledAs(row: AuditRow): string {
  const { shows } = row.data
  if (shows === null) return `could not be read again in time (${trouble(row)})`
  if (shows === false) {
    return 'was read again and had been changed or removed there; it is left like that'
  }
  return 'was read again and shows the newest version'
}

function sentAs(row: AuditRow): string {
  const deed = textOf(row, 'action') === 'edit' ? 'brought up to date' : 'sent'
  const shown = textOf(row, 'provider_id')
  return shown === null ? deed : `${deed} as ${outside(shown, 60)}`
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
  'catch-up': 'catching up',
}

function askedFor({ actor }: AuditRow): string {
  const what = limitedWhile[actor]
  return what === undefined ? '' : `, while ${what}`
}

export function failedBecause(reason: string | null, text: string | null): string {
  const said = text === null ? null : outside(text)
  if (reason === 'deadline') {
    return said === null
      ? 'it did not go through in time (deadline)'
      : `it did not go through in time (deadline); the last answer: ${said}`
  }
  const code = reason === null ? null : outside(reason, 64)
  if (said === null) return code ?? 'the reason is not known'
  return code === null ? said : `${said} (${code})`
}

const skips: Readonly<Record<string, string>> = {
  never_announced: 'its run was over before anything of it was shown (never_announced)',
  anchor_removed: 'somebody deleted it twice and does not want it (anchor_removed)',
  target_taken: 'a newer run shows its own there (target_taken)',
}

/** An operator's own words are quoted. */
export function skippedBecause(reason: string | null): string {
  if (reason === null) return 'the reason is not known'
  return Object.hasOwn(skips, reason) ? (skips[reason] ?? reason) : quoted(reason)
}
