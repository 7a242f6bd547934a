/** How webhooks are shown: in a list, and one in detail. */
import { reasonOf } from '../../audit/why/intake-words.ts'
import type { InboxEntryView, InboxEntryWithBodyView } from '../operations/operations.ts'
import type { Field } from '../output/fields.ts'
import type { Style } from '../output/paint.ts'
import type { TableShape } from '../output/table.ts'
import { exactTime, relativeTime } from '../output/time-text.ts'

const eventText = ({ event, action }: InboxEntryView): string =>
  action === null ? event : `${event}.${action}`

function aboutText({ repo, number }: InboxEntryView): string {
  return number === null ? (repo ?? '') : `${repo ?? ''}#${number}`
}

/** What it came to: while it waits, that; else what was decided, and why where it says. */
function becameText({ state, decision, reason }: InboxEntryView): string {
  const word = state === 'processed' ? decision : state
  return reason === null ? word : `${word}: ${reason}`
}

function becameStyle({ state, decision }: InboxEntryView): Style | null {
  if (state === 'failed') return 'red'
  if (state === 'waiting') return 'cyan'
  return decision === 'accepted' ? 'green' : 'dim'
}

export const inboxTable: TableShape<InboxEntryView> = {
  screen: [
    { title: 'ID', of: ({ id }) => id },
    { title: 'BECAME', of: becameText, style: becameStyle, cut: 'end' },
    { title: 'EVENT', of: eventText, cut: 'end', spare: 1 },
    { title: 'ABOUT', of: aboutText, cut: 'middle' },
    { title: 'CAME', of: ({ received_at: at }, now) => relativeTime(at, now), style: () => 'dim' },
  ],
  plain: [
    ['id', (entry) => entry.id],
    ['webhook_id', (entry) => entry.webhook_id],
    ['state', (entry) => entry.state],
    ['decision', (entry) => entry.decision],
    ['reason', (entry) => entry.reason],
    ['event', (entry) => entry.event],
    ['action', (entry) => entry.action],
    ['repo', (entry) => entry.repo],
    ['number', (entry) => entry.number],
    ['sender', (entry) => entry.sender],
    ['run_ids', (entry) => entry.run_ids.join(' ')],
    ['received_at', (entry) => entry.received_at],
    ['processed_at', (entry) => entry.processed_at],
  ],
}

/** The payload is left to `--json`: it is long, and for programs. */
export function inboxFields(entry: InboxEntryWithBodyView, nowMs: number): readonly Field[] {
  const time = (name: string, value: string | null): Field => ({
    name,
    value,
    shown: value === null ? null : exactTime(value, nowMs),
  })
  return [
    { name: 'id', value: entry.id, style: 'bold' },
    { name: 'state', value: entry.state, style: becameStyle(entry) },
    { name: 'decision', value: entry.decision },
    { name: 'reason', value: entry.reason },
    { name: 'event', value: eventText(entry) },
    { name: 'about', value: aboutText(entry) },
    { name: 'sender', value: entry.sender },
    { name: 'webhook_id', value: entry.webhook_id },
    { name: 'duplicate_of', value: entry.duplicate_of },
    { name: 'run_ids', value: entry.run_ids.join(' ') },
    ...entry.outcomes.map((outcome) => ({ name: 'outcome', value: outcomeText(outcome) })),
    ...remedyFields(entry),
    time('event_at', entry.event_at),
    time('received_at', entry.received_at),
    time('processed_at', entry.processed_at),
    time('next_try_at', entry.next_try_at),
    { name: 'tries', value: entry.tries, shown: entry.tries === 0 ? null : String(entry.tries) },
    { name: 'last_error', value: entry.last_error, style: 'red' },
  ]
}

/** What a person can do about one that failed; `why` says it of all others, too. */
function remedyFields({ id, state, reason }: InboxEntryWithBodyView): readonly Field[] {
  if (state !== 'failed' || reason === null) return []
  const { remedy, replay } = reasonOf({ result: 'failed', reason })
  const steps = [remedy, ...(replay === true ? [`holdfast inbox replay ${id}`] : [])]
  return [{ name: 'remedy', value: steps.filter((step) => step !== undefined).join('; then ') }]
}

function outcomeText(outcome: InboxEntryView['outcomes'][number]): string {
  const { type, result, reason, detail, run_ids: runs } = outcome
  const why = [reason, detail].filter((part) => part !== null && part !== '').join(', ')
  const met = runs.length === 0 ? '' : ` → ${runs.join(' ')}`
  return `${type}: ${result}${why === '' ? '' : ` (${why})`}${met}`
}
