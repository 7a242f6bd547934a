/**
 * What an anchor comment says, before it is put into words: all of it comes from the run, but for
 * the lines of the runs before it, which the comment carries along.
 */
import { pairOf } from '../pair.ts'
import type { Run, RunState, Verdict } from '../run.ts'
import { showsResult } from './words/shown-state.ts'

export const locales = ['en', 'ru'] as const
export type Locale = (typeof locales)[number]

/** Equal texts that came one after another. */
export interface ReportGroup {
  readonly text: string
  readonly count: number
  /** Of the last one. */
  readonly at: number
}

export interface PastRun {
  readonly runId: string
  readonly headSha: string | null
  readonly state: RunState
  readonly at: number
  /** The commits it had a result for; absent where it ended without one. */
  readonly resultPair?: string | undefined
}

export interface AnchorView {
  readonly locale: Locale
  readonly type: string
  readonly runId: string
  readonly state: RunState
  readonly verdict: Verdict | null
  readonly round: number
  readonly attempt: number
  readonly headSha: string | null
  readonly baseSha: string | null
  readonly createdAt: number
  readonly startedAt: number | null
  readonly finishedAt: number | null
  readonly summary: string | null
  readonly errorCode: string | null
  readonly errorText: string | null
  readonly targetUrl: string | null
  /** The last three. */
  readonly reports: readonly ReportGroup[]
  /** Where the work has phases. */
  readonly phases: readonly PhaseLine[]
  /** Newest first; `pastMore` of them are not shown. */
  readonly past: readonly PastRun[]
  readonly pastMore: number
}

export interface PhaseLine {
  readonly name: string
  readonly state: 'pending' | 'active' | 'waiting_approval' | 'blocked' | 'complete' | 'failed'
}

const reportGroupsKept = 3
const pastKept = 10

/** `ru-RU` is Russian; what we have no words in is English. */
export function localeOf(tag: string): Locale {
  const language = tag.toLowerCase().split(/[-_]/)[0]
  return locales.find((locale) => locale === language) ?? 'en'
}

export function withReport(
  reports: readonly ReportGroup[],
  text: string,
  at: number,
): readonly ReportGroup[] {
  const last = reports.at(-1)
  if (last?.text === text) return [...reports.slice(0, -1), { text, count: last.count + 1, at }]
  return [...reports, { text, count: 1, at }].slice(-reportGroupsKept)
}

export function anchorView(run: Run, before: AnchorView | null): AnchorView {
  const kept = before === null ? { past: [], pastMore: 0 } : pastOf(run, before)
  return {
    // The same from the first to the last time it is shown.
    locale: before?.locale ?? localeOf(run.locale),
    type: run.type,
    runId: run.id,
    state: run.state,
    verdict: run.verdict,
    round: run.round,
    attempt: run.attempt,
    headSha: run.headSha,
    baseSha: run.baseSha,
    createdAt: run.createdAt,
    startedAt: run.startedAt,
    finishedAt: run.finishedAt,
    summary: run.summary,
    errorCode: run.errorCode,
    errorText: run.errorText,
    targetUrl: run.targetUrl,
    reports: run.reports,
    phases: [],
    ...kept,
  }
}

/** The commits that this view shows a result for; null while there is none. */
function resultPairOf(view: AnchorView): string | null {
  const { baseSha, headSha } = view
  return showsResult(view) && baseSha !== null && headSha !== null
    ? pairOf({ baseSha, headSha })
    : null
}

/** All the commits that the comment shows a result for: its own run's, and those before it. */
export function resultPairsOf(view: AnchorView): readonly string[] {
  const pairs = [resultPairOf(view), ...view.past.map(({ resultPair }) => resultPair)]
  return [...new Set(pairs.filter((pair) => typeof pair === 'string'))]
}

/** A run that takes the comment over from another leaves a line of it. */
function pastOf(run: Run, before: AnchorView): Pick<AnchorView, 'past' | 'pastMore'> {
  const past = before.past.filter(({ runId }) => runId !== run.id)
  if (before.runId === run.id) return { past, pastMore: before.pastMore }
  const { runId, headSha, state, finishedAt, createdAt } = before
  const resultPair = resultPairOf(before)
  const line = { runId, headSha, state, at: finishedAt ?? createdAt }
  const all = [{ ...line, ...(resultPair !== null && { resultPair }) }, ...past]
  return {
    past: all.slice(0, pastKept),
    pastMore: before.pastMore + Math.max(0, all.length - pastKept),
  }
}
