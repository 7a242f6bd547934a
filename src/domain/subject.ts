/**
 * A subject: what runs are about. Its row is what every claim locks first, and it remembers more
 * than its runs do: which key is current, in which order heads came, which head was last finished.
 */
import { isActive, type Run, type RunState, type Verdict } from './run.ts'

/** How long a subject is remembered after it was last used, with the comment of its runs. */
export const subjectKeptMs = 365 * 24 * 3_600_000

/** `closed`: cancelled because its pull request was closed, so it is wanted when that is opened. */
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
   * How the current key's run last ended: it outlives the run. Null while the run has not ended,
   * and where it was purged before this was kept and is not known to have succeeded.
   */
  readonly currentEnded: CurrentEnd | null
  readonly headSha: string | null
  /** What the current head replaced, when its event said so. */
  readonly headBefore: string | null
  /** The current head's order; null while unverified. */
  readonly headAt: number | null
  /** The highest verified order. An unverified head does not move it. */
  readonly floorAt: number | null
  readonly finishedRunId: string | null
  readonly finishedHeadSha: string | null
  readonly finishedVerdict: Verdict | null
  /** When the pull request was opened, by GitHub's clock; null while nobody has said. */
  readonly threadCreatedAt: number | null
  readonly createdAt: number
  readonly touchedAt: number
}

/** Null while it has not ended. */
export function lastEndOf(run: Run): CurrentEnd | null {
  if (isActive(run)) return null
  return run.errorCode === 'pull_request_closed' ? 'closed' : run.state
}

/** What a subject remembers of the end of one of its runs. */
export function withEnd(subject: Subject, run: Run): Subject {
  if (isActive(run)) return subject
  const { id, state, headSha, verdict } = run
  return {
    ...subject,
    ...(subject.currentRunId === id && { currentEnded: lastEndOf(run) }),
    // Only work that came to a result is "last finished"; a supersession later does not undo it.
    ...(state === 'succeeded' && {
      finishedRunId: id,
      finishedHeadSha: headSha,
      finishedVerdict: verdict,
    }),
  }
}
