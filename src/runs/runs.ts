/**
 * The run verbs as the doors (HTTP, library, command line) use them: a request in the caller's
 * words in, a decision out. Validation of shapes is the door's; everything that needs the store,
 * the clock or a secret happens behind this.
 */
import type { ClaimReason } from '../domain/claim.ts'
import type { LeaseToken, Outcome, Run, Verdict } from '../domain/run.ts'
import type { TokenLimits } from '../domain/token-limits.ts'
import type { HeartbeatAnswer, IdempotencyKey, Page, Paged, RunFilter } from '../store.ts'

export interface Runs {
  claim(request: ClaimRequest, actor: string, idempotencyKey?: IdempotencyKey): Promise<Claimed>
  /** Waits up to `waitMs` for a pending run; null when none came. */
  lease(
    request: LeaseRunRequest,
    actor: string,
    idempotencyKey?: IdempotencyKey,
  ): Promise<Leased | null>
  /** With `waitMs` it holds on, renewing, and rejects early when the run is taken away. */
  heartbeat(
    request: HeartbeatRequest,
    actor: string,
    idempotencyKey?: IdempotencyKey,
  ): Promise<HeartbeatAnswer>
  release(
    runId: string,
    leaseHash: string,
    actor: string,
    idempotencyKey?: IdempotencyKey,
  ): Promise<Run>
  complete(
    request: CompleteRunRequest,
    actor: string,
    idempotencyKey?: IdempotencyKey,
  ): Promise<Run>
  cancel(runId: string, actor: string, idempotencyKey?: IdempotencyKey): Promise<Run>
  rerun(runId: string, actor: string, idempotencyKey?: IdempotencyKey): Promise<Claimed>
  get(runId: string): Promise<Run>
  list(filter: RunFilter, page: Page): Promise<Paged<Run>>
}

interface ClaimCommon {
  readonly type: string
  readonly webhookId?: string | undefined
  readonly event?: string | undefined
  readonly action?: string | undefined
  readonly sender?: string | undefined
  /**
   * Milliseconds. More than five minutes ahead of the store's clock is refused; of a caller, more
   * than two seconds ahead is left out.
   */
  readonly eventAt?: number | undefined
  readonly rerun?: boolean | undefined
  /** Whether the event made this head the head; left out, its action tells. */
  readonly headMaking?: boolean | undefined
  /** GitHub itself named this commit as the head, in its event or when it was asked. */
  readonly headFromGitHub?: boolean | undefined
  /** Why the type's own rule wants no work on it. */
  readonly skipReason?: string | undefined
  /** Any JSON value. */
  readonly input?: unknown
  /** False leaves the run pending for a worker. */
  readonly lease?: boolean | undefined
  readonly leaseMs?: number | undefined
  /** Of the lease that is granted, where the caller must know it before the answer. */
  readonly secret?: string | undefined
  /** Secrets of the caller's earlier claims of this key whose answer it never heard. */
  readonly unanswered?: readonly string[] | undefined
  /** What the caller asks with: its lease ends with it. */
  readonly token?: LeaseToken | undefined
  /** GitHub's numeric id of the repository, when an event brought it. */
  readonly repoId?: number | undefined
  /** When the pull request was opened, by GitHub's clock. */
  readonly threadCreatedAt?: number | undefined
}

export interface PullRequestClaim extends ClaimCommon {
  readonly kind: 'pull_request'
  readonly repo: string
  readonly pr: number
  readonly baseSha: string
  readonly headSha: string
  /** What the head replaced (`before` of a synchronize event). */
  readonly beforeSha?: string | undefined
}

export interface JobClaim extends ClaimCommon {
  readonly kind: 'job'
  readonly key: string
  /** What tells it from the others of its subject, where the key also shows a name. */
  readonly pair?: string | undefined
  readonly subject?: string | undefined
  readonly repo?: string | undefined
  readonly sha?: string | undefined
}

export type ClaimRequest = PullRequestClaim | JobClaim

export interface LeaseView {
  readonly token: string
  readonly expiresAt: number
}

export interface Claimed {
  readonly shouldProcess: boolean
  readonly reason: ClaimReason
  readonly runKey: string
  readonly supersededRunKeys: readonly string[]
  readonly run: Run | null
  readonly lease: LeaseView | null
  readonly runToken: string | null
}

export interface LeaseRunRequest {
  readonly worker: string
  readonly types?: readonly string[] | undefined
  readonly runId?: string | undefined
  readonly waitMs?: number | undefined
  readonly leaseMs?: number | undefined
  /** What the caller asks with: its lease ends with it. */
  readonly token?: LeaseToken | undefined
  /** Only what the caller's token reaches. */
  readonly within?: TokenLimits | undefined
  /** Aborts the wait when the caller has gone. */
  readonly signal?: AbortSignal | undefined
}

export interface Leased {
  readonly run: Run
  readonly lease: LeaseView
  readonly runToken: string
}

export interface HeartbeatRequest {
  readonly runId: string
  readonly leaseHash: string
  readonly leaseMs?: number | undefined
  readonly waitMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface CompleteRunRequest {
  readonly runId: string
  readonly leaseHash: string
  readonly outcome: Outcome
  readonly verdict?: Verdict | undefined
  readonly summary?: string | undefined
  readonly description?: string | undefined
  readonly targetUrl?: string | undefined
  /** Any JSON value. */
  readonly result?: unknown
  readonly error?: { readonly code: string; readonly text: string } | undefined
}
