/**
 * The texts of a run's commit status and check run. Pure, and from the run alone.
 *
 * What must hold: both texts stay the same while a run is active, so that two writes are enough for
 * its whole life. A run that ended without its holder never shows a success, and its text begins
 * with why.
 */
import { shortFailure } from '../../failure-text.ts'
import type { Run } from '../../run.ts'
import { isActive } from '../../run.ts'
import { localeOf } from '../anchor-view.ts'
import { ownReasonOf, skipReasonOf, shownStateOf } from './shown-state.ts'
import { wordsOf } from './words-of.ts'
import type { ShownState, Words } from './words.ts'

export interface StatusText {
  readonly state: 'pending' | 'success' | 'failure' | 'error'
  /** The channel cuts it to the length that GitHub accepts. */
  readonly description: string
}

type Conclusion = 'success' | 'failure' | 'neutral' | 'cancelled' | 'skipped' | 'timed_out'

export interface CheckText {
  readonly status: 'in_progress' | 'completed'
  readonly conclusion: Conclusion | null
  readonly title: string
  /** Markdown as the holder wrote it: the channel makes it safe. */
  readonly summary: string
}

interface GitHubState {
  readonly state: StatusText['state']
  readonly conclusion: Conclusion | null
}

const githubStates: Readonly<Record<ShownState, GitHubState>> = {
  queued: { state: 'pending', conclusion: null },
  running: { state: 'pending', conclusion: null },
  waiting: { state: 'pending', conclusion: null },
  passed: { state: 'success', conclusion: 'success' },
  refused: { state: 'failure', conclusion: 'failure' },
  neutral: { state: 'success', conclusion: 'neutral' },
  skipped: { state: 'success', conclusion: 'skipped' },
  failed: { state: 'failure', conclusion: 'failure' },
  timed_out: { state: 'error', conclusion: 'timed_out' },
  lost: { state: 'error', conclusion: 'cancelled' },
  no_worker: { state: 'error', conclusion: 'cancelled' },
  cancelled: { state: 'error', conclusion: 'cancelled' },
  superseded: { state: 'error', conclusion: 'cancelled' },
}

export function statusOf(run: Run): StatusText {
  return { state: githubStates[shownStateOf(run)].state, description: descriptionOf(run) }
}

/** The text for an output that a run left in progress although the run itself succeeded. */
export const endedWithoutResult = 'Ended without a result'

/** The run ended well. That says nothing about an output that it left in progress. */
export function endedWell({ state }: Pick<Run, 'state'>): boolean {
  return state === 'succeeded' || state === 'skipped'
}

export function checkOf(run: Run): CheckText {
  const title = descriptionOf(run)
  const { conclusion } = githubStates[shownStateOf(run)]
  return {
    status: conclusion === null ? 'in_progress' : 'completed',
    conclusion,
    title,
    summary: (isActive(run) ? null : run.summary) ?? sentenceOf(run) ?? title,
  }
}

function descriptionOf(run: Run): string {
  const words = wordsOf(localeOf(run.locale))
  const shown = shownStateOf(run)
  switch (shown) {
    case 'queued':
    case 'running':
    case 'waiting':
      return words.status.pending
    case 'passed':
      return holderText(run) ?? words.status.outcome.success
    case 'refused':
      return holderText(run) ?? words.status.outcome.failure
    case 'neutral':
      return holderText(run) ?? words.status.outcome.neutral
    case 'failed':
      return holderText(run) ?? failedWords(run, words)
    case 'skipped':
      return holderText(run) ?? skippedWords(run, words)
    case 'superseded':
      return words.status.ended.superseded
    default:
      return words.status.ended[ownReasonOf(run) ?? 'cancelled']
  }
}

function holderText({ description }: Run): string | null {
  const text = oneLine(description ?? '')
  return text === '' ? null : text
}

/** GitHub shows little more of a status. */
const whyMax = 120

function failedWords({ errorText, errorCode }: Run, { status }: Words): string {
  const short = shortFailure(errorCode, errorText ?? '', whyMax)
  const why = oneLine(short) || oneLine(errorCode ?? '')
  return why === '' ? status.outcome.failed : status.failed(why)
}

function skippedWords(run: Run, { status }: Words): string {
  const why = skipReasonOf(run)
  if (why === null) return status.skipped(null)
  return status.skipped('text' in why ? oneLine(why.text) : status.filtered)
}

/** A whole sentence, if Holdfast ended the run. */
function sentenceOf(run: Run): string | null {
  const { reason } = wordsOf(localeOf(run.locale))
  if (run.state === 'superseded') return reason.superseded
  const own = run.state === 'failed' || run.state === 'cancelled' ? ownReasonOf(run) : null
  return own === null ? null : reason[own]
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()
