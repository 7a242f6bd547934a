/**
 * The anchor comment as Markdown. Pure: the same view gives the same text, at any time.
 *
 * What must hold: what comes from outside goes through safe text; a part that is not known leaves
 * no hole; however long the parts are, the whole stays within `maxLength`, and what gives way is
 * the summary.
 */
import type { AnchorView, PastRun, PhaseLine } from '../../domain/outbox/anchor-view.ts'
import { ownReasonOf, skipReasonOf, shownStateOf } from '../../domain/outbox/shown-state.ts'
import { wordsOf } from '../../domain/outbox/words/words-of.ts'
import type { ShownState, Words } from '../../domain/outbox/words/words.ts'
import { cutBody } from '../cut-body.ts'
import type { ImageHosts } from '../inert-prose.ts'
import { safeLine, safeText } from '../safe-text.ts'
import { footerOf } from './footer.ts'
import { durationOf, fullTime, reportTime, timeRange } from './times.ts'

export interface AnchorOptions {
  readonly imageHosts?: ImageHosts | undefined
  readonly maxLength?: number
}

/** GitHub takes 65,536; the marker needs some. */
const defaultMaxLength = 65_000 - 300
const phasesMax = 30
const reportsMax = 3
const pastMax = 10
/** More of them fold away. */
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
  const after = [reports(view, words), past(view, words), footerOf(view, words)]
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

/** One line. GitHub makes links of commits by itself, but not inside code. */
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
  // A later round was queued at a time that is not known here.
  return state === 'pending' && round === 1 ? [anchor.queuedAt(fullTime(createdAt, anchor))] : []
}

/** Why it ended as it did: in our words where we ended it, quoted where somebody else said so. */
function reason(view: AnchorView, words: Words): string {
  if (view.state === 'skipped') return skipped(view, words)
  if (view.state !== 'failed' && view.state !== 'cancelled') return ''
  const own = ownReasonOf(view)
  return own === null ? quoted(view) : words.reason[own]
}

function skipped(view: AnchorView, words: Words): string {
  const why = skipReasonOf(view)
  if (why === null) return ''
  return 'said' in why ? `> ${safeLine(why.said)}` : words.reason.filtered
}

function quoted({ errorCode, errorText }: AnchorView): string {
  const code = (errorCode ?? '').replaceAll(/[^\w.-]/g, '').slice(0, 64)
  const said = [safeLine(errorText ?? '', 500), code === '' ? '' : `\`${code}\``]
  const text = said.filter((part) => part !== '').join(' · ')
  return text === '' ? '' : `> ${text}`
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
  const told = anchor.phase[state]
  return `- ${box} ${isCurrent ? `**${shown}**` : shown}${told === '' ? '' : `: ${told}`}`
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
  const told = `${anchor.pastState[state]}, ${time}`
  return headSha === null ? `- ${told}` : `- ${shortSha(headSha)} ${told}`
}
