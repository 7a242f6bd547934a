/**
 * The state of a run as people see it, from its state, its verdict and why it ended. The comment,
 * the commit status and the check run all use this, so they never disagree.
 */
import type { Run, Verdict } from '../../run.ts'
import { ownReasons, type OwnReason, type ShownState } from './words.ts'

type Ended = Pick<Run, 'state' | 'verdict' | 'errorCode'>

const stateByVerdict = {
  success: 'passed',
  failure: 'refused',
  neutral: 'neutral',
} as const satisfies Record<Verdict, ShownState>

export function shownStateOf(run: Ended): ShownState {
  switch (run.state) {
    case 'pending':
      return 'queued'
    case 'succeeded':
      return stateByVerdict[run.verdict ?? 'success']
    case 'failed':
      return failureOf(run.errorCode)
    default:
      return run.state
  }
}

const withoutResult: readonly ShownState[] = [
  ...(['queued', 'running', 'waiting'] as const),
  ...(['timed_out', 'lost', 'no_worker', 'cancelled', 'superseded'] as const),
]

/** It ended with a result; it was not cut short. */
export function showsResult(run: Ended): boolean {
  return !withoutResult.includes(shownStateOf(run))
}

function failureOf(code: string | null): ShownState {
  if (code === 'timeout' || code === 'step_unresolved') return 'timed_out'
  if (code === 'no_worker') return 'no_worker'
  return code === 'worker_lost' || code === 'attempts_exhausted' ? 'lost' : 'failed'
}

/** Null if the holder ended it, or a person cancelled it. */
export function ownReasonOf({ errorCode }: Pick<Run, 'errorCode'>): OwnReason | null {
  return ownReasons.find((reason) => reason === errorCode) ?? null
}

/** Why it was skipped: a text, or a rule that gave none; null when there is no reason. */
export function skipReasonOf({ errorCode, errorText }: SkippedRun): SkipReason | null {
  if (errorCode === 'skipped' && errorText === 'filtered') return { filtered: true }
  return errorText === null || errorText.trim() === '' ? null : { text: errorText }
}
type SkippedRun = Pick<Run, 'errorCode' | 'errorText'>
export type SkipReason = { readonly filtered: true } | { readonly text: string }
