/**
 * Holdfast inside your own program, directly on the store: ask the gate before the work, complete
 * the run after it. A lease belongs to the gate that got it. It is renewed automatically from the
 * claim until `complete` or `close`.
 */
import type { Published } from '../channels/own-output.ts'
import type { ClaimReason } from '../domain/claim.ts'
import type { Run } from '../domain/run.ts'
import type { LeaseView } from '../runs/runs.ts'
import type { PublishedOutput } from './find-output.ts'
import type { Completion, Output, RunClaim } from './requests.ts'

export interface Holdfast {
  /**
   * Claims the work on a pull request's SHA pair, or says why not. Safe with any number of
   * processes at once: exactly one of them gets `shouldProcess: true`.
   */
  checkAndClaimRun(claim: RunClaim, options?: GateOptions): Promise<Gate>
  /**
   * `report` of the gate that claimed this key. Rejects with a ConflictError, changing nothing,
   * when the run is not held here (any more), or when this instance was granted more than one lease
   * on the key (`ambiguous_lease`): then only the gate knows which one is meant.
   */
  reportRunStatus(runKey: string, status: string, of?: { readonly type?: string }): Promise<void>
  /**
   * `complete` of the gate that claimed this key. Rejects with a ConflictError, changing nothing,
   * when the run is not held here (any more), or when this instance was granted more than one lease
   * on the key (`ambiguous_lease`): then only the gate knows which one is meant.
   */
  completeRun(runKey: string, completion?: Completion): Promise<PublicRun | null>
  /**
   * Whether our own account has already published the result for these commits on GitHub. It is for
   * work that a gate let through without the store: ask right before you publish, and publish only
   * if it answers `published: false`. Takes a run key or the claim itself. It asks GitHub alone, so
   * it works while the store cannot be reached.
   *
   * Rejects with an OutputUnknownError if GitHub did not answer everything: then the result may be
   * published or not. Two processes that ask at the same time can both get `published: false`.
   */
  ensureNotPublished(
    output: RunClaim | string,
    of?: { readonly type?: string },
  ): Promise<PublishedOutput>
  /**
   * Removes finished runs that are older than this many days, and superseded ones after at most
   * seven. Returns the number of removed runs.
   */
  purgeOldRuns(retentionDays?: number): Promise<number>
  /**
   * Stops renewing every lease, aborts the signals of gates that are not completed, and closes the
   * store. Afterwards every call that needs the store rejects with a ConflictError (`closed`),
   * whatever `onStoreError` says. So does a claim that is answered only after the call to `close`.
   */
  close(): Promise<void>
}

export interface GateOptions {
  /**
   * What to answer if the store cannot be reached. `closed` (default) does not process, because a
   * second paid review is worse than a late one. `open` processes without a claim. If the store can
   * be reached but is contended, the gate is always closed, because somebody else does the same
   * work. After `open`, ask `ensureNotPublished` before you publish.
   */
  readonly onStoreError?: 'open' | 'closed'
}

export interface Gate {
  readonly shouldProcess: boolean
  readonly runKey: string
  readonly reason: ClaimReason | 'store-error'
  readonly supersededRunKeys: readonly string[]
  /**
   * A hidden HTML comment. Put it at the very end of a comment or review that you post yourself,
   * after all text that others wrote: `ensureNotPublished` finds your result by it. What you
   * publish through the gate does not need it.
   */
  readonly resultMark: string
  /** Null if the store could not be reached, or the run is past its retention. */
  readonly run: PublicRun | null
  readonly lease: LeaseView | null
  /** Aborts when the run is superseded, cancelled or lost, or on `close()`: stop working on it. */
  readonly signal: AbortSignal
  /**
   * Ends the run; a repeat gets the same answer. Rejects with a ConflictError, and changes nothing,
   * if this gate's lease is no longer valid or it never got one. Returns null if the gate failed
   * open, because there is no run.
   */
  complete(completion?: Omit<Completion, 'type'>): Promise<PublicRun | null>
  /**
   * Reports how the work goes, in 1 to 100 characters. The text is shown where the run is shown.
   * Rejects like `complete`. Does nothing if the gate failed open.
   */
  report(status: string): Promise<void>
  /**
   * Publishes an output of the run on GitHub, once per name and round. A server on the same store
   * sends it. Rejects like `complete`, with a ForbiddenError if the run's type may not publish
   * this, and with an InvalidInputError if GitHub would reject it. Returns null if the gate failed
   * open. For `ensureNotPublished`, comments and reviews count as published whatever they say, so
   * show progress with `report`.
   */
  publish(name: string, output: Output): Promise<Published | null>
}

export type { Published } from '../channels/own-output.ts'

const hidden = [
  'leaseHash',
  'pastLeaseHashes',
  'completedLeaseHash',
  'rev',
  'tokenId',
  'tokenUntil',
] as const

/** A run without the fields that only the store needs. */
export type PublicRun = Omit<Run, (typeof hidden)[number]>

export function publicRun(run: Run): PublicRun {
  const copy: Partial<Record<keyof Run, unknown>> = { ...run }
  for (const field of hidden) Reflect.deleteProperty(copy, field)
  return copy as PublicRun
}
