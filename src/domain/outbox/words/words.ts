/**
 * All texts of our own on GitHub, once per language.
 *
 * What must hold: the text of a run that was superseded, lost or cancelled never looks like that of
 * one that passed.
 */
import type { RunState } from '../../run.ts'
import type { PhaseLine } from '../anchor-view.ts'

/** Why Holdfast ended a run without its holder. */
export const ownReasons = [
  'no_worker',
  'timeout',
  'worker_lost',
  'attempts_exhausted',
  'step_unresolved',
  'pull_request_closed',
] as const
export type OwnReason = (typeof ownReasons)[number]

/** The state of a run as people see it. */
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
  /** The answer to a comment whose request was refused. */
  readonly headNewer: (type: string, sha: string, author: string, time: string) => string
  readonly status: StatusWords
  readonly anchor: AnchorWords
}

/** At most 140 characters, the most important words first. */
export interface StatusWords {
  /** One text while it is queued, running or waiting, so that it is written only once. */
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
  /** After the name of a phase; empty if its checkbox says enough. */
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
