/**
 * Everything we say on GitHub in our own words, once per language.
 *
 * What must hold: a run that was superseded, lost or cancelled never reads as one that passed.
 */
import type { RunState } from '../../run.ts'
import type { PhaseLine } from '../anchor-view.ts'

/** Why a run ended without its holder saying so. */
export const ownReasons = [
  'no_worker',
  'timeout',
  'worker_lost',
  'attempts_exhausted',
  'pull_request_closed',
] as const
export type OwnReason = (typeof ownReasons)[number]

/** How a run stands, as people would tell it. */
export type ShownState =
  | 'queued'
  | 'running'
  | 'waiting'
  | 'passed'
  | 'refused'
  | 'neutral'
  | 'failed'
  | 'timed_out'
  | 'lost'
  | 'no_worker'
  | 'cancelled'
  | 'skipped'
  | 'superseded'

export interface Duration {
  readonly days: number
  readonly hours: number
  readonly minutes: number
  readonly seconds: number
}

export interface Words {
  /** After the type's name and a colon. */
  readonly state: Readonly<Record<ShownState, string>>
  /** Whole sentences. */
  readonly reason: Readonly<Record<OwnReason | 'superseded' | 'filtered', string>>
  /** A comment that asked for work was not followed. */
  readonly headNewer: (type: string, sha: string, author: string, time: string) => string
  readonly status: StatusWords
  readonly anchor: AnchorWords
}

/** At most 140 characters, what matters first. */
export interface StatusWords {
  /** While it is queued, worked on, or waiting: one text for all, so that it is written once. */
  readonly pending: string
  readonly outcome: Readonly<Record<'success' | 'failure' | 'neutral' | 'failed', string>>
  readonly ended: Readonly<Record<OwnReason | 'superseded' | 'cancelled', string>>
  readonly failed: (why: string) => string
  readonly skipped: (why: string | null) => string
  readonly filtered: string
}

export interface AnchorWords {
  readonly months: readonly string[]
  readonly commit: string
  readonly base: string
  readonly queuedAt: (time: string) => string
  readonly startedAt: (time: string) => string
  readonly endedAt: (time: string) => string
  readonly attempt: (count: number) => string
  readonly round: (count: number) => string
  readonly duration: (length: Duration) => string
  /** Behind the name of a phase; empty where the box says it all. */
  readonly phase: Readonly<Record<PhaseLine['state'], string>>
  readonly morePhases: (count: number) => string
  readonly reports: string
  readonly past: string
  readonly pastCount: (count: number) => string
  readonly pastMore: (count: number) => string
  readonly pastState: Readonly<Record<RunState, string>>
  readonly details: string
  readonly rerun: (command: string) => string
  readonly shortened: string
}

const units = ['days', 'hours', 'minutes', 'seconds'] as const

/** A length of time in its two largest units, such as `2 h 5 min`. */
export function twoLargest(
  length: Duration,
  names: Readonly<Record<keyof Duration, string>>,
): string {
  const first = units.findIndex((unit) => length[unit] > 0)
  if (first === -1) return `< 1 ${names.seconds}`
  return units
    .slice(first, first + 2)
    .filter((unit) => length[unit] > 0)
    .map((unit) => `${length[unit]} ${names[unit]}`)
    .join(' ')
}
