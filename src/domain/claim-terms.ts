/** What a claim contains, the facts the store reads before it decides, and the decision. */
import type { AuditDraft } from './audit.ts'
import type { LeaseGrant, Run, RunPolicy } from './run.ts'
import type { Subject } from './subject.ts'

export const claimReasons = [
  'new',
  'superseded-prior',
  'reclaimed',
  'rerun',
  'retry',
  'returned',
  'restored',
  'duplicate',
  'stale-event',
  'queued',
  'busy',
  'skipped',
] as const
export type ClaimReason = (typeof claimReasons)[number]

export interface Claim {
  readonly type: string
  readonly policy: RunPolicy
  /** `owner/name` in lower case; null for a job without a repository. */
  readonly repo: string | null
  /** GitHub's id of the repository, if the event names it. A name can go to another repository. */
  readonly repoId: number | null
  readonly subjectName: string
  readonly key: string
  readonly pair: string
  readonly pr: number | null
  readonly baseSha: string | null
  readonly headSha: string | null
  readonly beforeSha: string | null
  /** When the pull request was opened, if the event says so. */
  readonly threadCreatedAt: number | null
  readonly headMaking: boolean
  /** GitHub itself named this commit as the head, in its event or when it was asked. */
  readonly headFromGitHub: boolean
  readonly eventAt: number | null
  readonly webhookId: string | null
  readonly event: string | null
  readonly action: string | null
  readonly sender: string | null
  /** A person asked for a rerun. */
  readonly rerun: boolean
  /** If not, it is stored as skipped where it would be queued: nobody will wait for its turn. */
  readonly mayQueue: boolean
  /** Why the type's `when` rule skips it; null if it does not. */
  readonly skipReason: string | null
  readonly input: string | null
  /** The claimer's lease, or null to leave the run pending for a worker. */
  readonly lease: LeaseGrant | null
  /**
   * An executor of the claiming process that is free. If the claim leaves a run pending, this one
   * takes it at once: see `takenAtOnce`.
   */
  readonly executor?: LeaseGrant
  readonly leaseMs: number
  readonly actor: string
  /** The audit row that led to it; none if the actor simply asked. */
  readonly causeId?: number | null
}

/** What the store read after it locked the subject. */
export interface ClaimFacts {
  readonly subject: Subject
  /** The run of this key on this subject. */
  readonly same: Run | null
  /** The subject's other active runs: all if the claim supersedes, otherwise only the one ahead. */
  readonly others: readonly Run[]
  /** A run of this type that has the same key under another subject. */
  readonly foreign: Run | null
  /** This webhook was already decided for this subject. */
  readonly eventSeen: boolean
  /** The last round of this key among purged runs; 0 when there was none. */
  readonly pastRound: number
}

export interface ClaimDecision {
  readonly reason: ClaimReason
  readonly process: boolean
  /**
   * The run as it should be; null when its row was purged. With `drawsFence` its fence is the id
   * of the first of `audits`.
   */
  readonly run: Run | null
  readonly drawsFence: boolean
  readonly changed: boolean
  readonly superseded: readonly Run[]
  readonly subject: Subject
  readonly audits: readonly AuditDraft[]
  /** The answer to this claimer's first claim was lost: it gets that answer and lease again. */
  readonly repeatsFirstAnswer?: boolean
  /** The order of two heads is not certain, so GitHub should be asked. */
  readonly unclear: boolean
}

export interface ClaimRefusal {
  readonly refused: 'key_conflict' | 'not_current'
  readonly currentRunId: string | null
}
