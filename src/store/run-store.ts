/**
 * Port: runs and the subjects they are about. Claiming, holding, ending and sweeping a run are one
 * transaction each, decided under the subject's lock, with their audit rows.
 */
import type { Claim, ClaimReason } from '../domain/claim.ts'
import type { GitHubPermissions } from '../domain/github-permissions.ts'
import type { LeaseGrant, Outcome, Run, RunState, Verdict } from '../domain/run.ts'
import type { Step, StepResult } from '../domain/step.ts'
import type { Subject } from '../domain/subject.ts'
import type { RepositoryLimit, TokenLimits } from '../domain/token-limits.ts'
import type { IdempotencyKey } from './idempotency-key.ts'
import type { Page, Paged } from './page.ts'

/** The free executors of this process, for the runs of some claims. */
export interface ExecutorOffers {
  /**
   * The claim, with an executor if one is free for it. Called when its transaction begins: a claim
   * that waits for its turn, or alone for somebody's lock, keeps no executor from other runs.
   */
  offer(claim: Claim): Claim
  /** Nothing came of what was offered so far. */
  withdraw(): void
}

export interface RunStore {
  /**
   * Decides a claim by the table in domain/claim.ts, under the subject's lock. The run it leaves
   * may start at once on what `offers` has, but not with an Idempotency-Key: its answer is kept.
   */
  claim(
    claim: Claim,
    idempotencyKey: IdempotencyKey | null,
    offers?: ExecutorOffers,
  ): Promise<ClaimAnswer>
  /** GitHub confirmed the head: replaces an order that arrival decided for now. */
  confirmHead(confirmed: ConfirmedHead): Promise<ConfirmHeadAnswer>
  /** A new holder for a pending run; null when none is available. */
  lease(request: LeaseRequest, idempotencyKey: IdempotencyKey | null): Promise<LeaseAnswer | null>
  /**
   * New holders for several pending runs at once: as many as there are `grants`, or fewer. Runs
   * that a person asked for come first, then those that have waited longest.
   */
  leaseMany(request: LeaseManyRequest): Promise<readonly LeaseAnswer[]>
  /**
   * Gives the runs of executors back, as if their leases were lost. Only for the new owner of a
   * SQLite file: the executors of its predecessor are dead. Returns the runs that were given back
   * or have failed.
   */
  takeOverExecutors(): Promise<readonly Run[]>
  /** Renews the lease, or throws the ConflictError that tells the holder to stop. */
  heartbeat(request: HolderRequest, idempotencyKey: IdempotencyKey | null): Promise<HeartbeatAnswer>
  /**
   * The types that have a run to lease. With `allBut`, also types that are in neither list: if it
   * is empty, only that of the run that waits longest. With `repositories` it skips waiting runs of
   * other repositories; otherwise its cost does not grow with the number of waiting runs.
   */
  availableTypes(
    types: readonly string[],
    allBut: readonly string[] | null,
    repositories: readonly RepositoryLimit[] | null,
  ): Promise<readonly string[]>
  /** Gives a run back without counting an attempt. */
  release(request: HolderRequest, idempotencyKey: IdempotencyKey | null): Promise<Run>
  /**
   * An executor whose work was cut off gives its run back at once, as if its lease was lost. The
   * run waits again, or has failed.
   */
  giveUp(request: HolderRequest): Promise<Run>
  /** The holder's end of a run. A repeat by the same holder gets the same answer. */
  complete(request: CompleteRequest, idempotencyKey: IdempotencyKey | null): Promise<Run>
  cancel(runId: string, actor: string, idempotencyKey: IdempotencyKey | null): Promise<Run>
  /**
   * Cancels a run only if it is pending: nobody works on it. Answers how it is then. A repeat
   * changes nothing more.
   */
  cancelPending(runId: string, actor: string): Promise<Run>
  /** A person asks for a rerun: starts the next round, now or when this one ends. */
  rerun(runId: string, actor: string, idempotencyKey: IdempotencyKey | null): Promise<ClaimAnswer>
  /** Writes to the audit how the command of a run ended, whatever became of the run. */
  noteCommandEnd(
    runId: string,
    actor: string,
    data: Readonly<Record<string, unknown>>,
  ): Promise<void>
  /** A status line from the holder; the last one is always shown. */
  reportStatus(request: ReportRequest, idempotencyKey: IdempotencyKey | null): Promise<Run>
  /** The run, while this lease holds it. Otherwise throws the ConflictError that says why not. */
  held(hold: LeaseHold): Promise<Run>
  /**
   * Records that the holder gets a token of GitHub; only the audit changes. Throws like `held`, and
   * then the holder must not get it.
   */
  noteGitHubToken(note: GitHubTokenNote): Promise<void>

  get(id: string): Promise<Run | null>
  /** The types of these runs, by id, without purged runs; one query. */
  types(ids: readonly string[]): Promise<ReadonlyMap<string, string>>
  subject(id: string): Promise<Subject | null>
  /**
   * The subjects of a pull request, one per run type: at most ten, last used first. If GitHub's id
   * is given and known, the name is ignored.
   */
  subjectsOf(repo: string, pr: number, repoId?: number | null): Promise<readonly Subject[]>
  /** The run of a subject that is active or can be leased: its queue waits for this run. */
  ahead(subjectId: string): Promise<Run | null>
  list(filter: RunFilter, page: Page): Promise<Paged<Run>>
  /** Which of these runs are no longer held under the given fence. For long-polls; one query. */
  lostHolds(holds: readonly Hold[]): Promise<readonly string[]>

  /** How many runs have not ended, by state. Never grows with history. */
  countActive(): Promise<Readonly<Record<ActiveState, number>>>
  /** Runs that the sweeper has to check, oldest first. Never grows with history. */
  due(limit: number): Promise<readonly string[]>
  /** Ends or gives back one due run; null when somebody else already did. */
  sweep(runId: string): Promise<Run | null>
}

export interface LeaseHandle {
  readonly secret: string
  readonly expiresAt: number
}

export interface ClaimAnswer {
  readonly reason: ClaimReason
  readonly process: boolean
  readonly runKey: string
  /** Null only when the row of a still current key was purged. */
  readonly run: Run | null
  readonly supersededKeys: readonly string[]
  readonly supersededRunIds: readonly string[]
  readonly lease: LeaseHandle | null
  /** The claim's executor has the run now. `run` is as the claim left it. */
  readonly taken: LeaseAnswer | null
  /** The order of arrival decided between two heads, so GitHub should confirm the head. */
  readonly unclear: boolean
  /** The id of the audit row of this decision. */
  readonly decisionId: number
}

export interface ConfirmedHead {
  /**
   * The run of the claim that the order of arrival decided. If another run is current now, the
   * answer came too late.
   */
  readonly runId: string
  /** The newest decision that was known when GitHub was asked. */
  readonly fence: number
  readonly headSha: string
  /**
   * If several runs are on this head, the one on this base is meant. Otherwise only the head
   * counts.
   */
  readonly baseSha: string
  /** The pull request's `updated_at` in the answer that named this head. */
  readonly at: number
  readonly actor: string
}

export interface ConfirmHeadAnswer {
  /**
   * `confirmed`: the current head is the newest. `moved`: another known run has the newest head and
   * is now the current one. `unchanged`: the known order contradicts the answer.
   */
  readonly result: 'confirmed' | 'moved' | 'unchanged' | 'unknown-head'
  readonly supersededRunIds: readonly string[]
}

export interface LeaseRequest {
  readonly grant: Omit<LeaseGrant, 'ms'>
  /** Null: the length that the claim asked for, or that the last holder used. */
  readonly leaseMs: number | null
  readonly types: readonly string[] | null
  /** If no types are named: all but these. Default: all. */
  readonly exceptTypes?: readonly string[]
  readonly runId: string | null
  /** Only what this token reaches. */
  readonly within?: TokenLimits | undefined
  readonly actor: string
}

export interface LeaseAnswer {
  readonly run: Run
  readonly lease: LeaseHandle
  /**
   * The steps of its round so far. There may be more: at most 1,000, and results of 4 MB together.
   */
  readonly steps: readonly Step[]
}

export interface LeaseManyRequest {
  /** One for each run that is wanted. */
  readonly grants: readonly Omit<LeaseGrant, 'ms'>[]
  readonly leaseMs: number
  readonly type: string
  /** Only runs that a person asked for. */
  readonly askedOnly: boolean
  /** The last grant is only for a run that a person asked for. Default: false. */
  readonly lastIfAsked?: boolean
  readonly actor: string
}

export interface HolderRequest {
  readonly runId: string
  readonly leaseHash: string
  /** Null keeps the lease's own length. */
  readonly leaseMs: number | null
  readonly actor: string
}

export type LeaseHold = Pick<HolderRequest, 'runId' | 'leaseHash'>

/** What a token of GitHub is for. The token itself is not stored. */
export interface GitHubTokenNote extends LeaseHold {
  readonly actor: string
  /** The only repository that the token reaches. */
  readonly repo: string
  readonly repoGithubId: number
  readonly permissions: GitHubPermissions
  readonly expiresAt: number
}

export interface HeartbeatAnswer {
  readonly expiresAt: number
  readonly fence: number
  readonly leaseMs: number
}

export interface CompleteRequest {
  readonly runId: string
  readonly leaseHash: string
  readonly actor: string
  readonly outcome: Outcome
  readonly verdict: Verdict | null
  readonly summary: string | null
  readonly description: string | null
  readonly targetUrl: string | null
  readonly result: string | null
  readonly errorCode: string | null
  readonly errorText: string | null
  /** Stored in the same transaction, unless the completion is refused. */
  readonly stepResults?: readonly StepResult[]
  /**
   * Steps of its round that this attempt did not ask for, with the version of its code: the code
   * may have changed since they were stored.
   */
  readonly stepsNotAskedFor?: StepsNotAskedFor
}

export interface StepsNotAskedFor {
  readonly steps: readonly Pick<Step, 'name' | 'codeVersion'>[]
  readonly codeVersion: string | null
}

export interface ReportRequest {
  readonly runId: string
  /** Null for an operator, who reports without holding it. */
  readonly leaseHash: string | null
  readonly actor: string
  readonly text: string
}

export interface Hold {
  readonly runId: string
  readonly fence: number
}

export type ActiveState = 'pending' | 'running' | 'waiting'

export interface RunFilter {
  readonly repo?: string
  /** GitHub's id. If it is known, it counts instead of the name. */
  readonly repoId?: number | null
  readonly pr?: number
  readonly state?: RunState
  readonly type?: string
  readonly key?: string
  readonly headSha?: string
  /** Only what this token reaches. */
  readonly within?: TokenLimits
}
