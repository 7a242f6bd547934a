/** How deliveries are shown: in a list, and one in detail with its attempts. */
import {
  errorOfWait,
  failedBecause,
  skippedBecause,
  waitWords,
} from '../../audit/delivery-reasons.ts'
import { channelsByName } from '../../channels/github-channels.ts'
import type { DeliveryView, DeliveryWithAttemptsView } from '../../contract.ts'
import type { Field, Heading } from '../output/fields.ts'
import type { Style } from '../output/paint.ts'
import type { TableShape } from '../output/table.ts'
import { exactTime, relativeTime } from '../output/time-text.ts'
import { sentence } from '../../texts/sentences.ts'

/** In the words of the API and of the filters: `PENDING backoff`, `SKIPPED: not wanted`. */
export function statusText({ status, wait, reason }: DeliveryView): string {
  if (wait !== null) return `${status} ${wait}`
  return reason === null ? status : `${status}: ${reason}`
}

export function deliveryStyle({ status, wait }: DeliveryView): Style | null {
  if (status === 'FAILED') return 'red'
  if (status === 'SENT') return 'green'
  if (status === 'SKIPPED') return 'dim'
  return wait === 'held' || wait === 'in_doubt' ? 'yellow' : 'cyan'
}

/** `comment of lint` (its anchor), `review findings of lint`, `status`. */
function whatText({ channel, name, type }: DeliveryView): string {
  const kind = channel.replace(/^github-/, '')
  const what = kind === name ? kind : `${kind} ${name}`
  const { place, announcement } = channelsByName.of(channel)
  // The target of a status or check run has its context or name.
  if (type == null || place === 'commit') return what
  return `${name === announcement?.name ? kind : what} of ${type}`
}

/** In words; empty if it was sent. */
function whyText({ status, wait, reason, error, tries }: DeliveryView): string {
  if (status === 'SENT') return ''
  const answer = error === null ? null : (error.text ?? error.code)
  if (wait !== null) return waitWords[wait]({ error: errorOfWait(wait, answer, tries) })
  return status === 'SKIPPED' ? skippedBecause(reason) : failedBecause(reason, answer)
}

const statusWords: Readonly<Record<DeliveryView['status'], string>> = {
  PENDING: 'Not sent yet',
  SENT: 'Sent',
  FAILED: 'Failed',
  SKIPPED: 'Skipped',
}

export function deliveryHeading(item: DeliveryView): Heading {
  const why = whyText(item)
  const state = sentence(`${statusWords[item.status]}${why === '' ? '' : `: ${why}`}`)
  const needsPerson = item.status === 'FAILED' || item.wait === 'held'
  return {
    title: `${whatText(item)} for ${item.target}`,
    state: item.settling ? `${state} GitHub is read again, in case something arrives late.` : state,
    style: deliveryStyle(item),
    remedy: needsPerson ? `Send it again: holdfast deliveries retry ${item.id}` : null,
  }
}

/** Without the reason of a closed delivery, which has its own column. */
const openText = ({ status, wait }: DeliveryView): string =>
  wait === null ? status : `${status} ${wait}`

const nextText = ({ wait, due_at: due }: DeliveryView, nowMs: number): string =>
  wait === null || due === null ? '' : relativeTime(due, nowMs)

export const deliveriesTable: TableShape<DeliveryView> = {
  screen: [
    { title: 'ID', of: ({ id }) => id, below: 4 },
    { title: 'STATUS', of: openText, style: deliveryStyle },
    { title: 'WHAT', of: whatText, cut: 'end', below: 1 },
    { title: 'TARGET', of: ({ target }) => target, cut: 'middle', least: 36 },
    { title: 'NEXT', of: nextText, below: 2, label: 'next' },
    {
      title: 'WANTED',
      of: ({ updated_at: at }, now) => relativeTime(at, now),
      style: () => 'dim',
      below: 3,
      label: 'wanted',
    },
    { title: 'WHY', of: whyText, below: 5 },
  ],
  plain: [
    ['id', (item) => item.id],
    ['status', (item) => item.status],
    ['wait', (item) => item.wait],
    ['reason', (item) => item.reason],
    ['channel', (item) => item.channel],
    ['name', (item) => item.name],
    ['target', (item) => item.target],
    ['run_id', (item) => item.run_id],
    ['tries', (item) => item.tries],
    ['due_at', (item) => item.due_at],
    ['provider_message_id', (item) => item.provider_message_id],
    ['url', (item) => item.url],
    ['created_at', (item) => item.created_at],
    ['updated_at', (item) => item.updated_at],
    ['sent_at', (item) => item.sent_at],
    ['closed_at', (item) => item.closed_at],
    ['type', (item) => item.type],
  ],
}

export function deliveryFields(item: DeliveryWithAttemptsView, nowMs: number): readonly Field[] {
  const time = (name: string, value: string | null): Field => ({
    name,
    value,
    onScreen: value === null ? null : exactTime(value, nowMs),
  })
  const flag = (name: string, value: boolean): Field => ({
    name,
    value,
    onScreen: value ? 'yes' : null,
  })
  return [
    { name: 'id', value: item.id, style: 'bold' },
    { name: 'status', value: item.status, style: deliveryStyle(item) },
    { name: 'wait', value: item.wait },
    { name: 'reason', value: item.reason },
    { name: 'error', value: troubleText(item.error), style: 'red' },
    { name: 'channel', value: item.channel },
    { name: 'name', value: item.name },
    { name: 'target', value: item.target },
    { name: 'kind', value: item.kind },
    { name: 'run_id', value: item.run_id },
    { name: 'type', value: item.type },
    { name: 'round', value: item.round },
    { name: 'version', value: `${item.version.fence}.${item.version.seq}` },
    flag('in_doubt', item.in_doubt),
    flag('settling', item.settling),
    {
      name: 'tries',
      value: item.tries,
      onScreen: item.tries === 0 ? null : `${item.tries} failed`,
    },
    time('due_at', item.due_at),
    { name: 'provider_message_id', value: item.provider_message_id },
    { name: 'url', value: item.url },
    time('created_at', item.created_at),
    time('updated_at', item.updated_at),
    time('sent_at', item.sent_at),
    time('closed_at', item.closed_at),
    item.closed_at === null
      ? time('deadline_at', item.deadline_at)
      : { name: 'deadline_at', value: item.deadline_at, onScreen: null },
    // A terminal shows the attempts in a table.
    ...item.attempts.map((attempt) => ({
      name: 'attempt',
      value: attemptText(attempt),
      onScreen: null,
    })),
    { name: 'content', value: JSON.stringify(item.content), onScreen: null },
  ]
}

type AttemptView = DeliveryWithAttemptsView['attempts'][number]

/** Names and times are as in JSON, because people compare them with logs and with JSON. */
export const attemptsTable: TableShape<AttemptView> = {
  screen: [
    { title: 'started_at', of: ({ started_at: at }) => at },
    { title: 'action', of: ({ action }) => action },
    { title: 'outcome', of: outcomeText },
    {
      title: 'http_status',
      of: ({ http_status: status }) => String(status ?? ''),
      label: 'http_status',
      below: 1,
    },
    { title: 'error', of: ({ error }) => troubleText(error) ?? '', below: 3 },
    {
      title: 'github_request_id',
      of: ({ github_request_id: id }) => id ?? '',
      label: 'github_request_id',
      below: 2,
    },
  ],
  plain: [],
}

function outcomeText({ outcome, late }: AttemptView): string {
  return `${outcome ?? 'under way'}${late ? ' (late)' : ''}`
}

function troubleText(error: DeliveryView['error']): string | null {
  if (error === null) return null
  return error.text === null ? error.code : `${error.code}: ${error.text}`
}

function attemptText(attempt: AttemptView): string {
  const { started_at: at, action, outcome, late, error, http_status: status } = attempt
  const result = outcome ?? 'under way'
  const more = [
    status === null ? '' : `HTTP ${status}`,
    troubleText(error) ?? '',
    late ? 'too late' : '',
    attempt.github_request_id === null ? '' : `GitHub request ${attempt.github_request_id}`,
  ].filter((part) => part !== '')
  return `${at} ${action}: ${result}${more.length === 0 ? '' : ` (${more.join(', ')})`}`
}
