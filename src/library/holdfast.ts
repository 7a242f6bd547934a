/**
 * Holdfast inside your own program, straight on the store: the gate before the work, and the word
 * after it. A lease belongs to the gate that got it, and is renewed by itself from the claim until
 * `complete` or `close`.
 */
import type { ClaimReason } from '../domain/claim.ts'
import type { Run } from '../domain/run.ts'
import type { LeaseView } from '../runs/runs.ts'
import type { PublishedOutput } from './find-output.ts'
import type { Completion, Output, RunClaim } from './requests.ts'

export interface Holdfast {
  /**
   * Claims the work on a pull request's SHA pair, or says why not. Safe with any number of
   * processes at once: exactly one of them is told to process.
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
   * Whether the result for these commits stands on GitHub already, published by our own account.
   * For work that a gate let through without the store: ask right before you publish, and publish
   * only where it answers `published: false`. Takes a run key or the claim itself; asks GitHub
   * alone, so it works while the store is away.
   *
   * Rejects with an OutputUnknownError when GitHub could not be asked for all of it: that is not a
   * no. Two processes that ask in the same moment can both be told no.
   */
  ensureNotPublished(
    output: RunClaim | string,
    of?: { readonly type?: string },
  ): Promise<PublishedOutput>
  /**
   * Removes finished runs older than this many days, superseded ones after at most seven; answers
   * the number of runs removed.
   */
  purgeOldRuns(retentionDays?: number): Promise<number>
  /**
   * Lets go of every lease, aborting the signals of gates that are not completed, and of the store.
   * A claim that is made or decided after it, and whatever else needs the store, rejects with a
   * ConflictError (`closed`), whatever `onStoreError` says.
   */
  close(): Promise<void>
}

export interface GateOptions {
  /**
   * What to answer when the store cannot be reached. `closed` (default) does not process: a
   * second paid review is worse than a late one. `open` processes without a claim. A store that
   * is there but contended always stays closed: somebody is at the same work. After `open`, ask
   * `ensureNotPublished` before you publish.
   */
  readonly onStoreError?: 'open' | 'closed'
}

export interface Gate {
  readonly shouldProcess: boolean
  readonly runKey: string
  readonly reason: ClaimReason | 'store-error'
  readonly supersededRunKeys: readonly string[]
  /**
   * An HTML comment that nobody sees. Put it at the very end of the comment or review that you post
   * yourself, behind all text that others wrote: `ensureNotPublished` finds your result by it. What
   * you publish through the gate needs none.
   */
  readonly resultMark: string
  /** Null when the store could not be reached, or the run is past its retention. */
  readonly run: PublicRun | null
  readonly lease: LeaseView | null
  /** Aborts when the run is superseded, cancelled or lost, or on `close()`: stop working on it. */
  readonly signal: AbortSignal
  /**
   * Ends the run; a repeat answers the same. Rejects with a ConflictError, changing nothing, when
   * this gate's lease no longer counts, or when it was granted none. Null after a gate that failed
   * open: there is no run.
   */
  complete(completion?: Omit<Completion, 'type'>): Promise<PublicRun | null>
  /**
   * Says how the work goes: 1 to 100 characters, shown soon where the run is shown. Rejects as
   * `complete` does; does nothing after a gate that failed open.
   */
  report(status: string): Promise<void>
  /**
   * Publishes something of the run's own on GitHub, once per name and round; a server on the same
   * store sends it. Rejects as `complete` does, with a ForbiddenError what the run's type may not
   * publish, and with an InvalidInputError what GitHub would not take; null after a gate that
   * failed open. Comments and reviews count as published for `ensureNotPublished`, whatever they
   * say: show progress with `report`.
   */
  publish(name: string, output: Output): Promise<Published | null>
}

export interface Published {
  readonly deliveryId: string
  /** It was published under this name before, and nothing was done. */
  readonly already: boolean
}

const hidden = [
  'leaseHash',
  'pastLeaseHashes',
  'completedLeaseHash',
  'rev',
  'tokenId',
  'tokenUntil',
] as const

/** A run without what only the store needs to know. */
export type PublicRun = Omit<Run, (typeof hidden)[number]>

export function publicRun(run: Run): PublicRun {
  const copy: Partial<Record<keyof Run, unknown>> = { ...run }
  for (const field of hidden) Reflect.deleteProperty(copy, field)
  return copy as PublicRun
}
