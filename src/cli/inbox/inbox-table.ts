/** How webhooks are shown: in a list, and one in detail. */
import { reasonOf } from '../../audit/why/webhook-words.ts'
import type { InboxEntryView, InboxEntryWithBodyView } from '../../contract.ts'
import type { Field, Heading } from '../output/fields.ts'
import type { Style } from '../output/paint.ts'
import type { TableShape } from '../output/table.ts'
import { exactTime, relativeTime } from '../output/time-text.ts'
import { sentence } from '../../texts/sentences.ts'

const eventText = ({ event, action }: InboxEntryView): string =>
  action === null ? event : `${event}.${action}`

function aboutText({ repo, number }: InboxEntryView): string {
  return number === null ? (repo ?? '') : `${repo ?? ''}#${number}`
}

/** In the words of the filters: `waiting` or `failed`, otherwise the decision. */
const resultText = ({ state, decision }: InboxEntryView): string =>
  state === 'processed' ? decision : state

/** The reason in words; empty if the webhook did what it should. */
function whyText(entry: InboxEntryView): string {
  const { state, decision, reason, last_error: trouble } = entry
  if (state === 'waiting') return trouble ?? ''
  if (reason !== null) {
    const result = state === 'failed' ? 'failed' : decision
    return reasonOf({ result, reason, event: entry.event }).because
  }
  return entry.outcomes
    .filter(({ result }) => result !== 'claimed' && result !== 'cancelled')
    .map(({ type, reason: why, result, detail }) => `${type}: ${becauseText(why, result, detail)}`)
    .join('; ')
}

/** Without the run type, which is before it. */
function becauseText(reason: string, result: string, detail: string | null): string {
  const { because } = reasonOf({ result, reason })
  return detail === null || detail === '' ? because : `${because} (${detail})`
}

function resultStyle({ state, decision }: InboxEntryView): Style | null {
  if (state === 'failed') return 'red'
  if (state === 'waiting') return 'cyan'
  return decision === 'accepted' ? 'green' : 'dim'
}

export const inboxTable: TableShape<InboxEntryView> = {
  screen: [
    { title: 'ID', of: ({ id }) => id, below: 3 },
    { title: 'RESULT', of: resultText, style: resultStyle },
    { title: 'EVENT', of: eventText, cut: 'end', least: 20 },
    { title: 'ABOUT', of: aboutText, cut: 'middle', least: 24 },
    {
      title: 'RECEIVED',
      of: ({ received_at: at }, now) => relativeTime(at, now),
      style: () => 'dim',
      label: 'received',
      below: 1,
    },
    { title: 'RUN', of: ({ run_ids: runs }) => runs.join(' '), label: '→', below: 4 },
    { title: 'WHY', of: whyText, below: 5 },
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

/** The state in a sentence. */
export function inboxState(entry: InboxEntryView): string {
  const why = whyText(entry)
  const because = why === '' ? '' : `: ${why}`
  switch (entry.state) {
    case 'waiting':
      return sentence(`Waits to be processed${because}`)
    case 'failed':
      return sentence(`Failed${because}`)
    case 'processed':
      return sentence(`${decisionWords[entry.decision]}${because}`)
  }
}

const decisionWords: Readonly<Record<InboxEntryView['decision'], string>> = {
  accepted: 'Processed',
  duplicate: 'Not processed',
  ignored: 'Ignored',
}

export function inboxHeading(entry: InboxEntryView): Heading {
  const about = aboutText(entry)
  return {
    title: about === '' ? eventText(entry) : `${eventText(entry)} in ${about}`,
    state: inboxState(entry),
    style: resultStyle(entry),
    remedy: remedyOf(entry),
  }
}

/** Without the payload, which is long and for programs: `--json` prints it. */
export function inboxFields(entry: InboxEntryWithBodyView, nowMs: number): readonly Field[] {
  const time = (name: string, value: string | null): Field => ({
    name,
    value,
    onScreen: value === null ? null : exactTime(value, nowMs),
  })
  return [
    { name: 'id', value: entry.id, style: 'bold' },
    { name: 'state', value: entry.state, style: resultStyle(entry) },
    { name: 'decision', value: entry.decision, onScreen: decisionText(entry) },
    { name: 'reason', value: entry.reason },
    { name: 'event', value: eventText(entry) },
    { name: 'about', value: aboutText(entry), onScreen: null },
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
    { name: 'tries', value: entry.tries, onScreen: entry.tries === 0 ? null : String(entry.tries) },
    { name: 'last_error', value: entry.last_error, style: 'red' },
  ]
}

/** Until a webhook is processed, its decision is only the answer that GitHub got. */
const decisionText = ({ state, decision }: InboxEntryView): string =>
  state === 'processed' ? decision : `${decision} (on arrival)`

/** What a person can do about a webhook that failed. `why` says it for every webhook. */
function remedyOf({ id, state, reason, outcomes }: InboxEntryView): string | null {
  if (state !== 'failed' || reason === null) return null
  const type = outcomes.find((outcome) => outcome.reason === reason)?.type
  const { remedy, replay } = reasonOf({ result: 'failed', reason, ...(type && { type }) })
  const steps = [remedy, ...(replay === true ? [`holdfast inbox replay ${id}`] : [])]
  return steps.filter((step) => step !== undefined).join('; then ')
}

/** On a terminal the heading has the remedy. */
function remedyFields(entry: InboxEntryView): readonly Field[] {
  const remedy = remedyOf(entry)
  return remedy === null ? [] : [{ name: 'remedy', value: remedy, onScreen: null }]
}

function outcomeText(outcome: InboxEntryView['outcomes'][number]): string {
  const { type, result, reason, detail, run_ids: runs } = outcome
  const why = [reason, detail].filter((part) => part !== null && part !== '').join(', ')
  const runText = runs.length === 0 ? '' : ` → ${runs.join(' ')}`
  return `${type}: ${result}${why === '' ? '' : ` (${why})`}${runText}`
}
