/**
 * What an anchor comment shows, as values without words. All of it comes from the run, except the
 * lines about earlier runs, which the comment keeps.
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
  /** When the last of them came. */
  readonly at: number
}

export interface PastRun {
  readonly runId: string
  readonly headSha: string | null
  readonly state: RunState
  readonly at: number
  /** The commits that it had a result for; absent if it ended without one. */
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
  /** Empty if the work has no phases. */
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

/** `ru-RU` is Russian. A language without words of ours becomes English. */
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
    // The language never changes while the comment exists.
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
    errorText: run.errorText ?? skipText(run),
    targetUrl: run.targetUrl,
    reports: run.reports,
    phases: [],
    ...kept,
  }
}

/** Why its holder skipped it, if no summary says so. */
const skipText = ({ state, summary, description }: Run): string | null =>
  state === 'skipped' && (summary ?? '').trim() === '' ? description : null

/** The commits that this view shows a result for; null while there is none. */
function resultPairOf(view: AnchorView): string | null {
  const { baseSha, headSha } = view
  return showsResult(view) && baseSha !== null && headSha !== null
    ? pairOf({ baseSha, headSha })
    : null
}

/** All commits that the comment shows a result for: those of its own run and of earlier runs. */
export function resultPairsOf(view: AnchorView): readonly string[] {
  const pairs = [resultPairOf(view), ...view.past.map(({ resultPair }) => resultPair)]
  return [...new Set(pairs.filter((pair) => typeof pair === 'string'))]
}

/** When a run takes the comment over from another run, a line about the other run stays. */
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
