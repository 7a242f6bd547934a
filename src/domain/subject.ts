/**
 * A subject: what runs are about, such as a pull request. Every claim locks its row first. It
 * stores what must outlive the runs: the current key, the order of heads, the last finished head.
 */
import { isActive, type Run, type RunState, type Verdict } from './run.ts'

/** How long a subject and its comment are kept after the last use. */
export const subjectKeptMs = 365 * 24 * 3_600_000

/** `closed`: cancelled because its pull request was closed; reopening starts it again. */
export type CurrentEnd = RunState | 'closed'

export interface Subject {
  readonly id: string
  readonly type: string
  /** The repository's own id, or '' for a job without a repository. */
  readonly scope: string
  /** `pr-5`, or a caller's own name for it. */
  readonly name: string
  readonly currentRunId: string | null
  readonly currentPair: string | null
  /**
   * How the run of the current key last ended; kept after the run is purged. Null while the run has
   * not ended, and for runs that were purged by versions that did not keep this.
   */
  readonly currentEnded: CurrentEnd | null
  readonly headSha: string | null
  /** The commit that the current head replaced, if its event named it. */
  readonly headBefore: string | null
  /** The current head's order; null while unverified. */
  readonly headAt: number | null
  /** The highest verified order. An unverified head does not move it. */
  readonly floorAt: number | null
  readonly finishedRunId: string | null
  readonly finishedHeadSha: string | null
  readonly finishedVerdict: Verdict | null
  /** When the pull request was opened, by GitHub's clock; null while unknown. */
  readonly threadCreatedAt: number | null
  readonly createdAt: number
  readonly touchedAt: number
}

/** Null while it has not ended. */
export function lastEndOf(run: Run): CurrentEnd | null {
  if (isActive(run)) return null
  return run.errorCode === 'pull_request_closed' ? 'closed' : run.state
}

/** Stores the end of one of its runs in the subject. */
export function withEnd(subject: Subject, run: Run): Subject {
  if (isActive(run)) return subject
  const { id, state, headSha, verdict } = run
  return {
    ...subject,
    ...(subject.currentRunId === id && { currentEnded: lastEndOf(run) }),
    // Only a run with a result is "last finished"; superseding it later does not change that.
    ...(state === 'succeeded' && {
      finishedRunId: id,
      finishedHeadSha: headSha,
      finishedVerdict: verdict,
    }),
  }
}
