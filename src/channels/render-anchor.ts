/**
 * The anchor comment as Markdown. It is pure: the same view always gives the same text.
 *
 * What must hold: text from outside is made safe. A part that is not known leaves no gap. The whole
 * is never longer than `maxLength`; if it would be, the summary is cut. Times are absolute and in
 * UTC, because "a minute ago" would be wrong a minute later.
 */
import type { AnchorView, PastRun, PhaseLine } from '../domain/outbox/anchor-view.ts'
import { shortFailure } from '../domain/failure-text.ts'
import { ownReasonOf, skipReasonOf, shownStateOf } from '../domain/outbox/words/shown-state.ts'
import { wordsOf } from '../domain/outbox/words/words-of.ts'
import type { AnchorWords, Duration, ShownState, Words } from '../domain/outbox/words/words.ts'
import type { RunState } from '../domain/run.ts'
import { cutBody } from './text/cut-body.ts'
import type { ImageHosts } from './text/inert-prose.ts'
import { markdownUrl } from './text/published-url.ts'
import { safeLine, safeText } from './text/safe-text.ts'

export interface AnchorOptions {
  readonly imageHosts?: ImageHosts | undefined
  readonly maxLength?: number
}

/** GitHub accepts 65,536 characters; the marker needs some of them. */
const defaultMaxLength = 65_000 - 300
const phasesMax = 30
const reportsMax = 3
const pastMax = 10
/** If there are more past runs, they are folded. */
const pastUnfolded = 3
const shaShown = 7

const emojis: Readonly<Record<ShownState, string>> = {
  queued: '🕓',
  running: '⏳',
  waiting: '✋',
  passed: '✅',
  refused: '❌',
  neutral: 'ℹ️',
  failed: '💥',
  timed_out: '⏰',
  lost: '🔌',
  no_worker: '💤',
  cancelled: '🚫',
  skipped: '⏭️',
  superseded: '⏩',
}

export function renderAnchor(view: AnchorView, options: AnchorOptions = {}): string {
  const { maxLength = defaultMaxLength } = options
  const words = wordsOf(view.locale)
  const before = [
    headline(view, words),
    reason(view, words),
    facts(view, words),
    phases(view, words),
  ]
  const after = [reports(view, words), past(view, words), footer(view, words)]
  const others = joined([...before, ...after])
  const room = maxLength - others.length - 2
  const summary = view.summary === null ? '' : safeText(view.summary, options.imageHosts)
  const shown = cutBody(summary, room, words.anchor.shortened)
  return cutBody(joined([...before, shown, ...after]), maxLength, words.anchor.shortened)
}

const joined = (parts: readonly string[]): string =>
  parts.filter((part) => part !== '').join('\n\n')

function headline(view: AnchorView, { state }: Words): string {
  const shown = shownStateOf(view)
  return `### ${emojis[shown]} ${safeLine(view.type, 64)}: ${state[shown]}`
}

/** One line. GitHub turns commits into links by itself, but not inside code. */
function facts(view: AnchorView, { anchor }: Words): string {
  const { headSha, baseSha, round, attempt } = view
  return [
    ...(headSha === null ? [] : [`${anchor.commit} ${shortSha(headSha)}`]),
    ...(baseSha === null ? [] : [`${anchor.base} ${shortSha(baseSha)}`]),
    ...times(view, { anchor }),
    ...(round > 1 ? [anchor.round(round)] : []),
    ...(attempt > 1 ? [anchor.attempt(attempt)] : []),
  ].join(' · ')
}

const shortSha = (sha: string): string => safeLine(sha.slice(0, shaShown))

function times(view: AnchorView, { anchor }: Pick<Words, 'anchor'>): string[] {
  const { createdAt, startedAt, finishedAt, round, state } = view
  if (finishedAt !== null && startedAt !== null) {
    const length = anchor.duration(durationOf(finishedAt - startedAt))
    return [timeRange(startedAt, finishedAt, anchor), length]
  }
  if (finishedAt !== null) return [anchor.endedAt(fullTime(finishedAt, anchor))]
  if (startedAt !== null) return [anchor.startedAt(fullTime(startedAt, anchor))]
  // It is not known here when a later round was queued.
  return state === 'pending' && round === 1 ? [anchor.queuedAt(fullTime(createdAt, anchor))] : []
}

/** Why it ended like this: in our words if Holdfast ended it, otherwise quoted. */
function reason(view: AnchorView, words: Words): string {
  if (view.state === 'skipped') return skipped(view, words)
  if (view.state !== 'failed' && view.state !== 'cancelled') return ''
  const own = ownReasonOf(view)
  return own === null ? quoted(view) : words.reason[own]
}

function skipped(view: AnchorView, words: Words): string {
  const why = skipReasonOf(view)
  if (why === null) return ''
  return 'text' in why ? `> ${safeLine(why.text)}` : words.reason.filtered
}

const failureMax = 500
const failureLinesMax = 20

/** Line by line, because the end of a command's output is hard to read without its lines. */
function quoted({ errorCode, errorText }: AnchorView): string {
  const code = (errorCode ?? '').replaceAll(/[^\w.-]/g, '').slice(0, 64)
  const text = shortFailure(errorCode, errorText ?? '', failureMax)
  const [first = '', ...more] = text.split('\n').map((line) => safeLine(line, failureMax))
  const head = [first, code === '' ? '' : `\`${code}\``].filter((part) => part !== '').join(' · ')
  const lines = [head, ...more.slice(-failureLinesMax)].filter((line) => line !== '')
  return lines.map((line) => `> ${line}`).join('\n')
}

function phases(view: AnchorView, { anchor }: Words): string {
  const shown = view.phases.slice(0, phasesMax).map((phase) => phaseLine(phase, anchor))
  const more = view.phases.length - shown.length
  return [...shown, ...(more > 0 ? [`- ${anchor.morePhases(more)}`] : [])].join('\n')
}

function phaseLine({ name, state }: PhaseLine, anchor: Words['anchor']): string {
  const shown = safeLine(name, 60)
  const box = state === 'complete' ? '[x]' : '[ ]'
  const isCurrent = state !== 'complete' && state !== 'pending'
  const words = anchor.phase[state]
  return `- ${box} ${isCurrent ? `**${shown}**` : shown}${words === '' ? '' : `: ${words}`}`
}

function reports(view: AnchorView, { anchor }: Words): string {
  const shown = view.reports.slice(-reportsMax)
  const newest = shown.at(-1)
  if (newest === undefined) return ''
  const lines = shown.map(({ text, count, at }) => {
    const times = count > 1 ? ` ×${count}` : ''
    return `- ${reportTime(at, newest.at, anchor)} ${safeLine(text)}${times}`
  })
  return [`**${anchor.reports}**`, ...lines].join('\n')
}

function past(view: AnchorView, words: Words): string {
  const { anchor } = words
  const shown = view.past.slice(0, pastMax)
  const more = view.pastMore + view.past.length - shown.length
  if (shown.length === 0) return ''
  const lines = shown.map((run) => pastLine(run, words))
  if (more > 0) lines.push(`- ${anchor.pastMore(more)}`)
  if (shown.length <= pastUnfolded) return [`**${anchor.past}**`, ...lines].join('\n')
  const title = anchor.pastCount(shown.length + more)
  return `<details>\n<summary>${title}</summary>\n\n${lines.join('\n')}\n\n</details>`
}

function pastLine({ headSha, state, at }: PastRun, { anchor }: Words): string {
  const time = fullTime(at, anchor)
  const ended = `${anchor.pastState[state]}, ${time}`
  return headSha === null ? `- ${ended}` : `- ${shortSha(headSha)} ${ended}`
}

/** Other runs are still worked on, or a newer run has replaced them. */
const rerunnable: readonly RunState[] = ['succeeded', 'failed', 'cancelled', 'skipped']

/** The last line: where to read more, and how to rerun it. */
function footer(view: AnchorView, { anchor }: Words): string {
  const id = view.runId.replaceAll(/[^\w-]/g, '')
  const details = view.targetUrl === null ? null : markdownUrl(view.targetUrl)
  const parts = [
    ...(details === null ? [] : [`[${anchor.details}](${details})`]),
    ...(canRerun(view) ? [anchor.rerun(`\`holdfast runs rerun ${id}\``)] : []),
  ]
  return parts.length === 0 ? '' : `<sub>${parts.join(' · ')}</sub>`
}

function canRerun({ state, errorCode }: AnchorView): boolean {
  return rerunnable.includes(state) && errorCode !== 'pull_request_closed'
}

const dayMs = 86_400_000

const dayOf = (at: number): number => Math.floor(at / dayMs)

/** `12:04` */
function clockTime(at: number): string {
  return new Date(at).toISOString().slice(11, 16)
}

/** `7 Aug` */
function dayAndMonth(at: number, { months }: AnchorWords): string {
  const date = new Date(at)
  return `${date.getUTCDate()} ${months[date.getUTCMonth()] ?? ''}`
}

/** `7 Aug 2026, 12:04 UTC` */
function fullTime(at: number, words: AnchorWords): string {
  return `${fullDay(at, words)}, ${clockTime(at)} UTC`
}

/** `7 Aug 2026, 12:04–12:09 UTC`, with the second day if it ended on another day. */
function timeRange(from: number, to: number, words: AnchorWords): string {
  const start = `${fullDay(from, words)}, ${clockTime(from)}`
  if (dayOf(from) !== dayOf(to)) return `${start} – ${fullTime(to, words)}`
  const end = clockTime(to)
  return end === clockTime(from) ? `${start} UTC` : `${start}–${end} UTC`
}

function fullDay(at: number, words: AnchorWords): string {
  return `${dayAndMonth(at, words)} ${new Date(at).getUTCFullYear()}`
}

/** `12:04`, with the day if the newest report is of another day. */
function reportTime(at: number, newestAt: number, words: AnchorWords): string {
  const time = clockTime(at)
  return dayOf(at) === dayOf(newestAt) ? time : `${dayAndMonth(at, words)} ${time}`
}

function durationOf(ms: number): Duration {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  return {
    days: Math.floor(seconds / 86_400),
    hours: Math.floor(seconds / 3600) % 24,
    minutes: Math.floor(seconds / 60) % 60,
    seconds: seconds % 60,
  }
}
