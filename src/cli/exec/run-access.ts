/**
 * Port: what `exec` does with runs, through a server or on the store itself. The answers have the
 * shapes of the HTTP contract.
 *
 * A call that rejects with an error for which `isAway` is true may have been done or not. It can be
 * repeated: claims and leases carry a key, so that a repeat gets the first answer, and all others
 * do the same once more.
 */
import type { AuditView } from '../../contract/audit.ts'
import type { ClaimedView, CompleteBody, LeasedView, RunView } from '../../contract/runs.ts'
import { execActor } from '../../domain/audit.ts'
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
  /** What happened to it last, newest first. */
  audit(id: string): Promise<readonly AuditView[]>
  /** Renews the lease and waits up to `waitMs`; rejects early if the run is lost. */
  heartbeat(request: Renewal, signal: AbortSignal): Promise<void>
  complete(id: string, body: CompleteBody & { readonly lease_token: string }): Promise<RunView>
  /**
   * Cancels a run that still waits in its queue, if others who wait for it can see that no person
   * did it. Answers how the run is then.
   */
  giveUp(id: string): Promise<RunView>
  /**
   * Where the command reaches Holdfast with its run token. Call it when the run is held: from then
   * on, what the run publishes is also sent from here, if nobody else does it. `secrets` are hidden
   * in what the command sends there, unless that is a server, which does not learn them.
   */
  open(held: HeldByToken, secrets: readonly string[]): Promise<string>
  /**
   * After the run's end. Sends what it still has to publish, and says what is left. Also for a run
   * whose result a claim has restored.
   */
  publishRest(runId: string, signal: AbortSignal): Promise<readonly string[]>
  close(): Promise<void>
}

export interface HeldByToken {
  readonly run: RunView
  readonly leaseToken: string
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

/** Whether a cancelled run was given up by an `exec`, not by a person. `audit` is newest first. */
export function givenUpBy(audit: readonly Pick<AuditView, 'type' | 'actor'>[]): boolean {
  return audit.find(({ type }) => type === 'run.cancelled')?.actor === execActor
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
