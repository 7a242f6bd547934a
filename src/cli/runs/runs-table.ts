/** How runs are shown: in a list, and one in detail. */
import type { RunView } from '../../contract.ts'
import type { Field, Heading } from '../output/fields.ts'
import { stateStyle } from '../output/paint.ts'
import type { TableShape } from '../output/table.ts'
import { exactTime, relativeTime } from '../output/time-text.ts'
import { sentence } from '../../texts/sentences.ts'

/** As people name it: `acme/widgets#5`, or the subject's own name. */
export function aboutText({ repo, pr, subject }: RunView): string {
  if (repo !== null && pr !== null) return `${repo}#${pr}`
  return repo === null ? subject : `${repo} ${subject}`
}

/** Empty for the first attempt of the first round; otherwise `2`, or `1, attempt 3`. */
function roundText({ round, attempt }: RunView): string {
  if (attempt > 1) return `${round}, attempt ${attempt}`
  return round > 1 ? String(round) : ''
}

/** Why the run has its state, in words; empty if the state says enough. */
function whyText(run: RunView): string {
  const { state, verdict, error, description } = run
  if (state === 'superseded') return supersededText(run)
  if (state === 'succeeded') {
    const found = verdict === null || verdict === 'success' ? '' : verdictWords[verdict]
    return [found, description ?? ''].filter((part) => part !== '').join(': ')
  }
  return error === null ? '' : (error.text ?? error.code)
}

function supersededText({ superseded_by: key }: RunView): string {
  const [, head] = /:head-([0-9a-f]{7})/.exec(key ?? '') ?? []
  return head === undefined ? '' : `the newer head is ${head}`
}

/** `heldStep`: the name of the step that a person has to decide about. */
export function runHeading(run: RunView, nowMs: number, heldStep: string | null): Heading {
  return {
    title: `${run.type} of ${aboutText(run)}`,
    state:
      heldStep === null
        ? stateText(run, nowMs)
        : `Waits for a person: it is not known whether the step ${heldStep} was done.`,
    style: stateStyle(run.state),
    remedy: heldStep === null ? null : `Decide about it: holdfast runs steps ${run.id}`,
  }
}

const verdictWords = { success: 'passed', failure: 'not passed', neutral: 'neutral' } as const

const afterSpace = (text: string | null): string => (text === null ? '' : ` ${text}`)

function stateText(run: RunView, nowMs: number): string {
  const why = whyText(run)
  const { state, started_at: started } = run
  const because = why === '' ? '' : `: ${why}`
  switch (state) {
    case 'pending':
      return sentence(`Waits for a worker${because}`)
    case 'running':
      return started === null ? 'Running.' : `Running; started ${relativeTime(started, nowMs)}.`
    case 'waiting':
      return 'Waits for a decision.'
    case 'succeeded':
      return `Finished: ${verdictWords[run.verdict ?? 'success']}.${afterSpace(run.description)}`
    case 'failed':
    case 'cancelled':
    case 'skipped':
    case 'superseded':
      return sentence(`${state.charAt(0).toUpperCase()}${state.slice(1)}${because}`)
  }
}

export const runsTable: TableShape<RunView> = {
  screen: [
    { title: 'ID', of: ({ id }) => id, below: 4 },
    { title: 'STATE', of: ({ state }) => state, style: ({ state }) => stateStyle(state) },
    { title: 'TYPE', of: ({ type }) => type, cut: 'end', below: 1 },
    { title: 'ABOUT', of: aboutText, cut: 'middle', least: 28 },
    { title: 'HEAD', of: ({ head_sha: head }) => head?.slice(0, 7) ?? '', below: 2, label: 'head' },
    { title: 'ROUND', of: roundText, below: 3, label: 'round' },
    {
      title: 'SINCE',
      of: (run, now) => relativeTime(run.finished_at ?? run.started_at ?? run.created_at, now),
      style: () => 'dim',
    },
    { title: 'WHY', of: whyText, below: 5 },
  ],
  plain: [
    ['id', (run) => run.id],
    ['state', (run) => run.state],
    ['type', (run) => run.type],
    ['repo', (run) => run.repo],
    ['pr', (run) => run.pr],
    ['subject', (run) => run.subject],
    ['key', (run) => run.key],
    ['head_sha', (run) => run.head_sha],
    ['attempt', (run) => run.attempt],
    ['round', (run) => run.round],
    ['created_at', (run) => run.created_at],
    ['started_at', (run) => run.started_at],
    ['finished_at', (run) => run.finished_at],
  ],
}

export function runFields(run: RunView, nowMs: number, heldStep: string | null): readonly Field[] {
  const time = (name: string, value: string | null): Field => ({
    name,
    value,
    onScreen: value === null ? null : exactTime(value, nowMs),
  })
  const json = (name: string, value: unknown): Field => ({
    name,
    value: value === null ? null : JSON.stringify(value),
  })
  return [
    { name: 'id', value: run.id, style: 'bold' },
    { name: 'state', value: run.state, style: stateStyle(run.state) },
    { name: 'type', value: run.type },
    { name: 'about', value: aboutText(run), onScreen: null },
    // The key of a pull request only repeats the other fields.
    { name: 'key', value: run.key, ...(run.pr !== null && { onScreen: null }) },
    { name: 'repo', value: run.repo, onScreen: null },
    { name: 'pr', value: run.pr, onScreen: null },
    { name: 'subject', value: run.subject, onScreen: null },
    { name: 'base_sha', value: run.base_sha },
    { name: 'head_sha', value: run.head_sha },
    { name: 'round', value: run.round },
    { name: 'attempt', value: run.attempt },
    { name: 'fence', value: run.fence },
    { name: 'trigger', value: triggerText(run) },
    time('created_at', run.created_at),
    time('started_at', run.started_at),
    time('finished_at', run.finished_at),
    run.finished_at === null
      ? time('deadline_at', run.deadline_at)
      : { name: 'deadline_at', value: run.deadline_at, onScreen: null },
    time('lease_expires_at', run.lease_expires_at),
    { name: 'superseded_by', value: run.superseded_by },
    { name: 'outcome', value: run.outcome },
    { name: 'verdict', value: run.verdict },
    { name: 'description', value: run.description },
    { name: 'target_url', value: run.target_url },
    { name: 'error', value: errorText(run), style: 'red' },
    { name: 'previous', value: previousText(run) },
    { name: 'anchor', value: run.anchor?.url ?? run.anchor?.comment_id ?? null },
    { name: 'status_context', value: run.status_context },
    json('input', run.input),
    json('result', run.result),
    // A terminal shows the summary below the fields.
    { name: 'summary', value: run.summary, onScreen: null },
    // A terminal shows it in the heading.
    { name: 'held_step', value: heldStep, onScreen: null },
  ]
}

function triggerText({ trigger }: RunView): string | null {
  if (trigger === null) return null
  const { event, action, sender } = trigger
  const what = [event, action].filter((part) => part !== null).join('.')
  return [what, sender === null ? '' : `by ${sender}`].filter((part) => part !== '').join(' ')
}

function errorText({ error }: RunView): string | null {
  if (error === null) return null
  return error.text === null ? error.code : `${error.code}: ${error.text}`
}

function previousText({ previous }: RunView): string | null {
  if (previous === null) return null
  return [previous.run_id, previous.verdict].filter((part) => part !== null).join(' ')
}
