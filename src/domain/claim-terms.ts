/** What a claim says, what the store sees when it decides on it, and what it decides. */
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
  /** GitHub's number of the repository, when an event brought it: names are given away. */
  readonly repoId: number | null
  readonly subjectName: string
  readonly key: string
  readonly pair: string
  readonly pr: number | null
  readonly baseSha: string | null
  readonly headSha: string | null
  readonly beforeSha: string | null
  /** When the pull request was opened, where the event says so. */
  readonly threadCreatedAt: number | null
  readonly headMaking: boolean
  /** GitHub itself named this commit as the head, in its event or when it was asked. */
  readonly headFromGitHub: boolean
  readonly eventAt: number | null
  readonly webhookId: string | null
  readonly event: string | null
  readonly action: string | null
  readonly sender: string | null
  /** A person asked for it to be done again. */
  readonly rerun: boolean
  /** Why its type's own rule wants no work on it; null when it does. */
  readonly skipReason: string | null
  readonly input: string | null
  /** The claimer's lease, or null to leave the run pending for a worker. */
  readonly lease: LeaseGrant | null
  readonly leaseMs: number
  readonly actor: string
}

/** What the store saw after it held the subject's lock. */
export interface ClaimFacts {
  readonly subject: Subject
  readonly same: Run | null
  /** The subject's other active runs: all where the claim supersedes, else the one ahead. */
  readonly others: readonly Run[]
  /** A run of this type that has the key under another subject. */
  readonly foreign: Run | null
  /** This webhook was already decided on for this subject. */
  readonly eventSeen: boolean
  /** The last round of this key among runs that are gone; 0 where there was none. */
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
  /** The claimer was granted this run and never heard of it: it is told again, by its own lease. */
  readonly repeatsFirstAnswer?: boolean
  /** Arrival decided between two heads, or one is stale by likelihood: GitHub should be asked. */
  readonly unclear: boolean
}

export interface ClaimRefusal {
  readonly refused: 'key_conflict' | 'not_current'
  readonly currentRunId: string | null
}
