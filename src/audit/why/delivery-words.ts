/**
 * What happened to a delivery, in words: a clause for each audit type that is about one, and which
 * of them a story leaves out. If the delivery is known, the clause names it. Otherwise it says only
 * what the row contains.
 */
import { channelsByName, wordsByChannel } from '../../channels/github-channels.ts'
import type { AuditRow, AuditType } from '../../domain/audit.ts'
import type { Content } from '../../domain/outbox/channel-declaration.ts'
import type { Delivery } from '../../domain/outbox/delivery.ts'
import type { Run } from '../../domain/run.ts'
import { failedBecause, skippedBecause } from '../delivery-reasons.ts'
import {
  atStart,
  counted,
  numberOf,
  cleanText,
  quoted,
  shortSha,
  textOf,
  typeWords,
} from './names.ts'

type Words = (row: AuditRow, about: DeliveryAbout) => string

interface DeliveryAbout {
  readonly delivery: NamedDelivery | null
  /** Who did it. */
  readonly who: string | null
}

/** What is needed to name a delivery and to say what its newest version shows. */
export type NamedDelivery = Pick<
  Delivery,
  'id' | 'channel' | 'name' | 'content' | 'sha' | 'versionFence' | 'versionSeq'
> & {
  /** The type of its run, if there are outputs of several types to tell apart. */
  readonly runType?: string
}

/** Adds the types of their runs if the runs have several. */
export function withRunTypes(
  deliveries: readonly Delivery[],
  runs: readonly Run[],
): readonly (Delivery & NamedDelivery)[] {
  if (new Set(runs.map(({ type }) => type)).size < 2) return deliveries
  const types = new Map(runs.map(({ id, type }) => [id, type]))
  return deliveries.map((delivery) => {
    const runType = types.get(delivery.runId ?? '')
    return runType === undefined ? delivery : { ...delivery, runType }
  })
}

type DeliveryType = Extract<
  AuditType,
  | `run.anchor.${string}`
  | `delivery.${string}`
  | `operator.delivery_${string}`
  | 'run.service_message.updated'
  | 'budget.blocked'
  | 'operator.identity_unblocked'
>

/** Something was published. Several such rows that follow each other become one line. */
export const publishedTypes: ReadonlySet<AuditType> = new Set<AuditType>([
  'delivery.sent',
  'run.anchor.recreated',
])

/** These follow from `delivery.sent`, which already says it. */
const saidBySent = new Set<AuditType>(['run.anchor.created', 'run.service_message.updated'])
/** Shown only if the question is about one delivery, or if GitHub does not show it as it should. */
const detailTypes = new Set<AuditType>([
  'delivery.coalesced',
  'delivery.settled',
  'run.anchor.taken_over',
])

/** Whether the story leaves it out. */
export function isLeftOut(row: AuditRow, isOfOneDelivery: boolean): boolean {
  if (saidBySent.has(row.type)) return true
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
    `GitHub asked ${cleanText(textOf(row, 'identity') ?? 'us', 80)} to wait until ` +
    `${timeIn(textOf(row, 'until') ?? 'later')}${limitReason(row)}${askedFor(row)}`,
  'operator.identity_unblocked': (row, { who }) =>
    `${atStart(who ?? 'somebody')} removed the block of ` +
    cleanText(textOf(row, 'identity') ?? 'an identity', 80),
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
  const channel = delivery?.channel ?? textOf(row, 'channel') ?? ''
  const name = withoutArticle(delivery === null ? what(row, delivery) : nameWithoutType(delivery))
  const ofType = delivery === null ? '' : ofRunType(delivery)
  const shown = newestContent(row, delivery)
  switch (wordsByChannel.get(channel)?.sentAs) {
    case 'state': {
      const state = textOf(row, 'state') ?? (shown === null ? null : stateIn(shown))
      return state === null ? name : `${name}: ${cleanText(state, 40)}`
    }
    case 'set or removed':
      return `${name}${ofType} ${shown?.['present'] === false ? 'removed' : 'set'}`
    default: {
      const which = name === 'comment' && id !== null ? `comment ${cleanText(id, 60)}` : name
      return `${which}${ofType} ${isEdit ? 'updated' : 'created'}`
    }
  }
}

const withoutArticle = (words: string): string => words.replace(/^(the|a) /, '')

/** The content that the row's version had. Only the newest version is still known. */
function newestContent(row: AuditRow, delivery: NamedDelivery | null): Content | null {
  const version = row.data['version'] as { fence?: unknown; seq?: unknown } | undefined
  const { versionFence, versionSeq } = delivery ?? {}
  const isNewest = version?.fence === versionFence && version?.seq === versionSeq
  return delivery === null || !isNewest ? null : contentOf(delivery)
}

const contentOf = ({ content }: Pick<Delivery, 'content'>): Content =>
  JSON.parse(content) as Content

/** Of a status or check run: `pending`, `success`. Returns null if it shows no state. */
export const stateShown = (delivery: Pick<Delivery, 'content'>): string | null =>
  stateIn(contentOf(delivery))

function stateIn({ conclusion, state, status }: Content): string | null {
  const shown = [conclusion, state, status].find((value) => typeof value === 'string')
  return shown === undefined ? null : cleanText(shown, 100)
}

/** `12:05:02 UTC` */
const timeIn = (iso: string): string =>
  /^\d{4}-\d\d-\d\dT/.test(iso) ? `${iso.slice(11, 19)} UTC` : cleanText(iso, 40)

/** What GitHub showed when it was last read. `other`: it was changed or removed there. */
export type LastSeen = 'shown' | 'other' | 'unknown'

/** Rows that say what GitHub shows. */
const seenTypes = new Set<AuditType>([
  'delivery.sent',
  'delivery.confirmed',
  'operator.delivery_confirmed',
  'delivery.settled',
])

/** `rows`: oldest first. Without any such row, the status SENT counts. */
export function lastSeen({ id }: Pick<Delivery, 'id'>, rows: readonly AuditRow[]): LastSeen {
  const last = rows.findLast(({ deliveryId, type }) => deliveryId === id && seenTypes.has(type))
  return last === undefined ? 'shown' : seenIn(last)
}

function seenIn({ type, data: { shows } }: AuditRow): LastSeen {
  if (type !== 'delivery.settled') return 'shown'
  if (shows === null) return 'unknown'
  return shows === false ? 'other' : 'shown'
}

/** `the comment`, `the commit status holdfast/review on 9c1185a`, `the review findings` */
export const deliveryName = (delivery: NamedDelivery): string =>
  `${nameWithoutType(delivery)}${ofRunType(delivery)}`

/** ` of lint`. The name of a status or check run already tells its type. */
function ofRunType({ channel, runType }: NamedDelivery): string {
  const isOnCommit = channelsByName.of(channel).place === 'commit'
  return runType === undefined || isOnCommit ? '' : ` of ${typeWords({ type: runType })}`
}

function nameWithoutType({ channel, name, content, sha }: NamedDelivery): string {
  const { place, titleOf, announcement, repeatWhenHidden } = channelsByName.of(channel)
  const { noun = 'message', isQuoted = false } = wordsByChannel.get(channel) ?? {}
  // The check run of another run was shown instead, so the result was published once more.
  const isRepeated = name === repeatWhenHidden?.repeatName
  const title = titleOf?.(contentOf({ content })) ?? (name === announcement?.name ? null : name)
  const which = title === null ? '' : ` ${isQuoted ? quoted(title) : cleanText(title, 100)}`
  const onCommit = place === 'commit' && sha !== null ? ` on ${shortSha(sha)}` : ''
  return `the ${isRepeated ? 'repeated ' : ''}${noun}${which}${onCommit}`
}

const start = (row: AuditRow, delivery: NamedDelivery | null): string =>
  atStart(what(row, delivery))

function what(row: AuditRow, delivery: NamedDelivery | null): string {
  if (delivery !== null) return deliveryName(delivery)
  const words = wordsByChannel.get(textOf(row, 'channel') ?? '')
  if (words !== undefined) return `a ${words.noun}`
  const { deliveryId } = row
  return deliveryId === null || deliveryId === undefined
    ? 'something'
    : `delivery ${cleanText(deliveryId, 60)}`
}

function checkedAs(row: AuditRow): string {
  const { shows } = row.data
  if (shows === null) return `could not be checked in time (${trouble(row)})`
  if (shows === false) return 'was changed or removed on GitHub; Holdfast leaves it as it is'
  return 'was checked: GitHub shows the newest version'
}

function withId(row: AuditRow): string {
  const shown = textOf(row, 'comment_id')
  return shown === null ? '' : ` ${cleanText(shown, 60)}`
}

const id = (row: AuditRow, field: string): string => cleanText(textOf(row, field) ?? 'another', 60)

function trouble(row: AuditRow): string {
  const code = textOf(row, 'code')
  return cleanText(textOf(row, 'text') ?? code ?? 'the reason is not known')
}

function limitReason(row: AuditRow): string {
  const reason = textOf(row, 'reason')
  return reason === null ? '' : ` (${cleanText(reason)})`
}

const limitedWhile: Readonly<Record<string, string>> = {
  publisher: 'publishing',
  intake: 'deciding on a webhook',
  'catch-up': 'looking for missed webhooks',
  runs: 'working on a run',
}

function askedFor({ actor }: AuditRow): string {
  const what = limitedWhile[actor]
  return what === undefined ? '' : `, while ${what}`
}
