/**
 * Port: what `exec` does with runs, through a server or on the store itself. The answers have the
 * shapes of the HTTP contract.
 *
 * A call that rejects with an error for which `isAway` is true may have been done or not. It can be
 * repeated: claims and leases carry a key, so that a repeat gets the first answer, and all others
 * do the same once more.
 */
import type { ClaimedView, CompleteBody, LeasedView, RunView } from '../../contract/runs.ts'
import { StoreContendedError, StoreUnavailableError } from '../../errors.ts'
import { RefusedError, UnreachableError } from '../failure.ts'
import type { WantedWork } from './wanted-work.ts'

export interface RunAccess {
  /** What is talked to, in words. */
  readonly place: string
  claim(work: WantedWork, leaseMs: number, key: string): Promise<ClaimedView>
  /**
   * Takes this very run, if it waits for a worker. Null if it does not within `waitMs`. It is held
   * as after a claim: if this process dies, the next claim takes the run over. `signal` may end the
   * wait early, but never an answer that says that the run was taken.
   */
  lease(request: LeaseOne, key: string, signal: AbortSignal): Promise<LeasedView | null>
  run(id: string): Promise<RunView>
  /** Renews the lease and waits up to `waitMs`; rejects early if the run is lost. */
  heartbeat(request: Renewal, signal: AbortSignal): Promise<void>
  complete(id: string, body: CompleteBody & { readonly lease_token: string }): Promise<RunView>
  cancel(id: string): Promise<RunView>
  /**
   * Where the command reaches Holdfast with its run token. Call it when the run is held: from then
   * on, what the run publishes is also sent from here, if nobody else does it.
   */
  open(run: RunView): Promise<string>
  /**
   * After the run's end. Sends what it still has to publish, and says what is left. Also for a run
   * whose result a claim has restored.
   */
  publishRest(runId: string, signal: AbortSignal): Promise<readonly string[]>
  close(): Promise<void>
}

export interface LeaseOne {
  readonly runId: string
  readonly worker: string
  readonly leaseMs: number
  readonly waitMs: number
}

export interface Renewal {
  readonly runId: string
  readonly leaseToken: string
  readonly leaseMs: number
  readonly waitMs: number
  /** How long a server's answer may take, so that another try fits into the lease. */
  readonly answerMs: number
}

/** The server or the store cannot be reached now, or has a fault. Otherwise it has refused. */
export function isAway(error: unknown): boolean {
  return (
    error instanceof UnreachableError ||
    error instanceof StoreUnavailableError ||
    error instanceof StoreContendedError ||
    (error instanceof RefusedError && error.code === 'internal_error')
  )
}
