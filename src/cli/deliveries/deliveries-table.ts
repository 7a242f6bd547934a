/** How deliveries are shown: in a list, and one in detail with its tries. */
import type { DeliveryView, DeliveryWithAttemptsView } from '../operations/operations.ts'
import type { Field } from '../output/fields.ts'
import type { Style } from '../output/paint.ts'
import type { TableShape } from '../output/table.ts'
import { exactTime, relativeTime } from '../output/time-text.ts'

/** What it waits for, or why it is closed. */
export function standText({ status, wait, reason }: DeliveryView): string {
  const why = wait ?? reason
  return why === null ? status : `${status} ${why}`
}

export function deliveryStyle({ status, wait }: DeliveryView): Style | null {
  if (status === 'FAILED') return 'red'
  if (status === 'SENT') return 'green'
  if (status === 'SKIPPED') return 'dim'
  return wait === 'held' || wait === 'in_doubt' ? 'yellow' : 'cyan'
}

const nameText = ({ channel, name }: DeliveryView): string => `${channel} ${name}`

export const deliveriesTable: TableShape<DeliveryView> = {
  screen: [
    { title: 'ID', of: ({ id }) => id },
    { title: 'STATUS', of: standText, style: deliveryStyle, cut: 'end' },
    { title: 'WHAT', of: nameText, cut: 'end', spare: 2 },
    { title: 'TARGET', of: ({ target }) => target, cut: 'middle' },
    {
      title: 'NEXT',
      of: ({ wait, due_at: due }, now) =>
        wait === null || due === null ? '' : relativeTime(due, now),
      spare: 3,
    },
    { title: 'WANTED', of: ({ updated_at: at }, now) => relativeTime(at, now), style: () => 'dim' },
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
  ],
}

export function deliveryFields(item: DeliveryWithAttemptsView, nowMs: number): readonly Field[] {
  const time = (name: string, value: string | null): Field => ({
    name,
    value,
    shown: value === null ? null : exactTime(value, nowMs),
  })
  const flag = (name: string, value: boolean): Field => ({
    name,
    value,
    shown: value ? 'yes' : null,
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
    { name: 'round', value: item.round },
    { name: 'version', value: `${item.version.fence}.${item.version.seq}` },
    flag('in_doubt', item.in_doubt),
    flag('settling', item.settling),
    { name: 'tries', value: item.tries, shown: item.tries === 0 ? null : String(item.tries) },
    time('due_at', item.due_at),
    { name: 'provider_message_id', value: item.provider_message_id },
    { name: 'url', value: item.url },
    time('created_at', item.created_at),
    time('updated_at', item.updated_at),
    time('sent_at', item.sent_at),
    time('closed_at', item.closed_at),
    time('deadline_at', item.deadline_at),
    ...item.attempts.map((attempt) => ({ name: 'attempt', value: attemptText(attempt) })),
    { name: 'content', value: JSON.stringify(item.content) },
  ]
}

function troubleText(error: DeliveryView['error']): string | null {
  if (error === null) return null
  return error.text === null ? error.code : `${error.code}: ${error.text}`
}

function attemptText(attempt: DeliveryWithAttemptsView['attempts'][number]): string {
  const { started_at: at, action, outcome, late, error, http_status: status } = attempt
  const became = outcome ?? 'under way'
  const more = [
    status === null ? '' : `HTTP ${status}`,
    troubleText(error) ?? '',
    late ? 'too late' : '',
    attempt.github_request_id === null ? '' : `GitHub request ${attempt.github_request_id}`,
  ].filter((part) => part !== '')
  return `${at} ${action}: ${became}${more.length === 0 ? '' : ` (${more.join(', ')})`}`
}
