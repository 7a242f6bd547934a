/**
 * Holdfast inside your own program, straight on the store: the gate before the work, and the word
 * after it. A lease is renewed by itself from the claim until `completeRun` or `close`.
 */
import type { ClaimReason } from '../domain/claim.ts'
import type { Run } from '../domain/run.ts'
import type { LeaseView } from '../runs/runs.ts'
import type { Completion, RunClaim } from './requests.ts'

export interface Holdfast {
  /**
   * Claims the work on a pull request's SHA pair, or says why not. Safe with any number of
   * processes at once: exactly one of them is told to process.
   */
  checkAndClaimRun(claim: RunClaim, options?: GateOptions): Promise<Gate>
  /**
   * Says how the work on a run goes: 1 to 100 characters, shown soon where the run is shown.
   * Rejects with a ConflictError, changing nothing, when the run is not held here (any more). Says
   * nothing after a gate that failed open: there is no run.
   */
  reportRunStatus(runKey: string, status: string, of?: { readonly type?: string }): Promise<void>
  /**
   * Ends a run this instance holds. Rejects with a ConflictError, changing nothing, when the run
   * is not held here (any more). Answers null after a gate that failed open: there is no run.
   */
  completeRun(runKey: string, completion?: Completion): Promise<PublicRun | null>
  /**
   * Removes finished runs older than this many days, superseded ones after at most seven; answers
   * the number of runs removed.
   */
  purgeOldRuns(retentionDays?: number): Promise<number>
  /** Lets go of every lease and of the store. */
  close(): Promise<void>
}

export interface GateOptions {
  /**
   * What to answer when the store cannot be reached. `closed` (default) does not process: a
   * second paid review is worse than a late one. `open` processes without a claim. A store that
   * is there but contended always stays closed: somebody is at the same work.
   */
  readonly onStoreError?: 'open' | 'closed'
}

export interface Gate {
  readonly shouldProcess: boolean
  readonly runKey: string
  readonly reason: ClaimReason | 'store-error'
  readonly supersededRunKeys: readonly string[]
  /** Null when the store could not be reached, or the run is past its retention. */
  readonly run: PublicRun | null
  readonly lease: LeaseView | null
  /** Aborts when the run is superseded, cancelled or lost: stop working on it. */
  readonly signal: AbortSignal
}

const hidden = ['leaseHash', 'pastLeaseHashes', 'completedLeaseHash', 'rev'] as const

/** A run without what only the store needs to know. */
export type PublicRun = Omit<Run, (typeof hidden)[number]>

export function publicRun(run: Run): PublicRun {
  const copy: Partial<Record<keyof Run, unknown>> = { ...run }
  for (const field of hidden) Reflect.deleteProperty(copy, field)
  return copy as PublicRun
}
