/**
 * The run verbs for HTTP, the library and the command line: a request comes in, a decision goes
 * out. The callers validate shapes; everything that needs the store, the clock or a secret happens
 * here.
 */
import type { ClaimReason } from '../domain/claim.ts'
import type { Completion } from '../domain/completion.ts'
import type { LeaseToken, Run } from '../domain/run.ts'
import type { Step } from '../domain/step.ts'
import type { TokenLimits } from '../domain/token-limits.ts'
import type {
  DecidedStep,
  DecideStepRequest,
  HeartbeatAnswer,
  Hold,
  IdempotencyKey,
  Page,
  Paged,
  RunFilter,
  StepAnswer,
  StepRequest,
} from '../store.ts'

export interface Runs {
  claim(request: ClaimRequest, actor: string, idempotencyKey?: IdempotencyKey): Promise<Claimed>
  /** Waits up to `waitMs` for a pending run; null when none came. */
  lease(
    request: LeaseRunRequest,
    actor: string,
    idempotencyKey?: IdempotencyKey,
  ): Promise<Leased | null>
  /** Leases several runs of one type for an executor of this process. */
  leaseMany(request: LeaseRunsRequest, actor: string): Promise<readonly Leased[]>
  /** Resolves when the hold may be lost, after `ms`, or when `signal` aborts. */
  untilLost(hold: Hold, ms: number, signal: AbortSignal): Promise<void>
  /** With `waitMs` it waits and renews the lease; rejects early when the run is lost. */
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
  /** The work of an executor was cut off, and nothing of it goes on. Counts as an attempt. */
  giveUp(runId: string, leaseHash: string, actor: string): Promise<Run>
  complete(
    request: CompleteRunRequest,
    actor: string,
    idempotencyKey?: IdempotencyKey,
  ): Promise<Run>
  /** What a holder does with a step of its run: see domain/step.ts. */
  actOnStep(request: StepRequest): Promise<StepAnswer>
  /** A person's decision about a held step. Its run waits for a worker again. */
  decideStep(request: DecideStepRequest, idempotencyKey?: IdempotencyKey): Promise<DecidedStep>
  cancel(runId: string, actor: string, idempotencyKey?: IdempotencyKey): Promise<Run>
  /** Only if nobody works on it. Answers how it is then. */
  cancelPending(runId: string, actor: string): Promise<Run>
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
   * Milliseconds. More than five minutes ahead of the store's clock is refused. A caller's time
   * more than two seconds ahead is ignored.
   */
  readonly eventAt?: number | undefined
  readonly rerun?: boolean | undefined
  /** False: where it would be queued behind another run, it is stored as skipped (`busy`). */
  readonly queue?: boolean | undefined
  /** Whether the event made this commit the head; when missing, its action decides. */
  readonly headMaking?: boolean | undefined
  /** GitHub itself named this commit as the head, in its event or when it was asked. */
  readonly headFromGitHub?: boolean | undefined
  /** Why the `when` rule of the type skips it. */
  readonly skipReason?: string | undefined
  /** Any JSON value. */
  readonly input?: unknown
  /** False leaves the run pending for a worker. */
  readonly lease?: boolean | undefined
  readonly leaseMs?: number | undefined
  /** The secret of the lease, if the caller must know it before the answer. */
  readonly secret?: string | undefined
  /** Secrets of earlier claims of this key whose answer never reached the caller. */
  readonly unanswered?: readonly string[] | undefined
  /** The token of the caller: the lease ends when the token does. */
  readonly token?: LeaseToken | undefined
  /** GitHub's numeric id of the repository, if the event names it. */
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
  /** The identity within the subject, if the key also contains a name. */
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
  /** It holds the run as if it had claimed it: see `Holder`. */
  readonly isCaller?: boolean | undefined
  /** The token of the caller: the lease ends when the token does. */
  readonly token?: LeaseToken | undefined
  /** The limits of the caller's token. */
  readonly within?: TokenLimits | undefined
  /** Aborts the wait when the caller has gone. */
  readonly signal?: AbortSignal | undefined
}

export interface LeaseRunsRequest {
  /** Names this process. */
  readonly worker: string
  readonly type: string
  readonly count: number
  /** Only runs that a person asked for. */
  readonly askedOnly: boolean
  /** The last of `count` is only for a run that a person asked for. */
  readonly lastIfAsked: boolean
}

export interface Leased {
  readonly run: Run
  readonly lease: LeaseView
  readonly runToken: string
  /** Of its round, as far as the store sends them: see `LeaseAnswer`. */
  readonly steps: readonly Step[]
}

export interface HeartbeatRequest {
  readonly runId: string
  readonly leaseHash: string
  readonly leaseMs?: number | undefined
  readonly waitMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface CompleteRunRequest extends Completion {
  readonly runId: string
  readonly leaseHash: string
}
