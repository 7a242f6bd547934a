/**
 * A lease that renews itself until it is released. Its AbortSignal aborts when the run was lost:
 * superseded, cancelled or given to another holder, by this process or any other.
 *
 * What must hold: an unreachable store does not mean that the lease is lost. It is lost only if the
 * store says so, or when the instance closes. The store also says so if it has no such run: then
 * nothing is renewed or repeated.
 */
import type { Clock } from '../clock.ts'
import type { LossCode } from '../domain/hold.ts'
import { ConflictError, NotFoundError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Runs } from './runs.ts'
import type { Scheduler } from '../scheduler.ts'
import { delay } from '../scheduler.ts'
import { hashLeaseToken } from '../secrets.ts'
import type { HeartbeatAnswer } from '../store.ts'

const retryMs = 1000
/** Without `ended`, because a caller that completed its run has lost nothing. */
const lossCodes: ReadonlySet<string> = new Set<LossCode>(['superseded', 'cancelled', 'lease_lost'])

export interface KeptLeaseOptions {
  readonly runs: Pick<Runs, 'heartbeat' | 'untilLost'>
  readonly scheduler: Scheduler
  readonly clock: Clock
  readonly log: Log
  readonly runId: string
  readonly token: string
  readonly fence: number
  /** Nobody held this run before. */
  readonly isFirst: boolean
  readonly leaseMs: number
  /** False if it was granted just now. The lease of a repeated claim may be older. */
  readonly renewAtOnce: boolean
  readonly actor: string
  /** Called after each renewal: until when the lease is live, by the monotonic clock. */
  readonly onRenewed?: (liveUntilMs: number) => void
  /** Called when the run is lost, so there is nothing to renew any more. */
  readonly onLost: () => void
}

export class KeptLease {
  readonly runId: string
  readonly leaseHash: string
  readonly fence: number
  readonly isFirst: boolean
  readonly #options: KeptLeaseOptions
  readonly #lost = new AbortController()
  readonly #done = new AbortController()
  #finishing = false
  readonly #renewing: Promise<void>

  constructor(options: KeptLeaseOptions) {
    this.runId = options.runId
    this.fence = options.fence
    this.isFirst = options.isFirst
    this.leaseHash = hashLeaseToken(options.token)
    this.#options = options
    this.#renewing = this.#renew()
  }

  /** Aborts with the ConflictError that says why the run is lost. */
  get signal(): AbortSignal {
    return this.#lost.signal
  }

  /**
   * Completes the run. Meanwhile a refused renewal does not mean that the lease is lost, because
   * the completion may have ended the run. If the completion fails, the lease is still renewed.
   */
  async finish<T>(complete: () => Promise<T>): Promise<T> {
    this.#finishing = true
    try {
      const done = await complete()
      await this.stopRenewing()
      return done
    } catch (error) {
      const refusal = refusalIn(error)
      if (refusal !== null) this.lose(refusal)
      throw error
    } finally {
      this.#finishing = false
    }
  }

  /** Unless the run was completed, its lease then expires. */
  async stopRenewing(): Promise<void> {
    // Nobody reads the reason. Without one an error with a stack is made, which takes long.
    this.#done.abort(null)
    await this.#renewing
  }

  /** Does the work. If the store refuses it because the run is lost, the signal aborts. */
  async whileHeld<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      const loss = refusalIn(error)
      const isLoss = loss !== null && lossCodes.has(loss.code)
      if (isLoss && !this.#finishing && !this.#done.signal.aborted) this.lose(loss)
      throw error
    }
  }

  /**
   * Called when the instance closes. After that the lease cannot be used, and another holder may
   * get the run when the lease expires. So the signal aborts. A completion that is in progress goes
   * on, and its own caller learns the result.
   */
  async close(why: ConflictError): Promise<void> {
    if (!this.#finishing) this.lose(why)
    await this.stopRenewing()
  }

  /** Aborts the signal, so that the work on the run stops. */
  lose(error: ConflictError): void {
    this.#done.abort()
    this.#lost.abort(error)
    this.#options.onLost()
  }

  /** Renews it now. Rejects with a ConflictError if the run is lost. */
  async renewNow(): Promise<HeartbeatAnswer> {
    const { runs, clock, runId, actor, onRenewed } = this.#options
    const sentAt = clock.monotonicMs()
    const request = { runId, leaseHash: this.leaseHash }
    const answer = await this.whileHeld(() => runs.heartbeat(request, actor))
    // The store may have renewed it later than this, never earlier.
    onRenewed?.(sentAt + answer.leaseMs)
    return answer
  }

  /** Until the next renewal, or until the run may be lost. */
  async #wait(fence: number, ms: number): Promise<void> {
    const { runs, scheduler, runId } = this.#options
    const signal = this.#done.signal
    await runs.untilLost({ runId, fence }, ms, signal)
    // Our own completion ends the hold, too.
    if (this.#finishing) await delay(scheduler, ms, signal)
  }

  async #renew(): Promise<void> {
    const { scheduler, log, runId, leaseMs, renewAtOnce } = this.#options
    const signal = this.#done.signal
    const waitMs = Math.floor(leaseMs / 3)
    if (renewAtOnce) await delay(scheduler, 0, signal)
    else await this.#wait(this.fence, waitMs)
    while (!signal.aborted) {
      try {
        const { fence } = await this.renewNow()
        await this.#wait(fence, waitMs)
      } catch (error) {
        const refusal = refusalIn(error)
        if (refusal !== null && !this.#finishing) {
          this.lose(refusal)
          return
        }
        // Otherwise the completion is in progress, and has probably ended the run.
        if (refusal === null) {
          const about = { err: error, run_id: runId }
          log.warn(about, 'Could not renew the lease of a run; trying again')
        }
        await delay(scheduler, Math.min(waitMs, retryMs), signal)
      }
    }
  }
}

/**
 * Null if the same call may succeed later. A run that the store no longer has (it was removed, or
 * an older copy of the database was restored) is lost like one that somebody else holds.
 */
export function refusalIn(error: unknown): ConflictError | null {
  if (error instanceof ConflictError) return error
  if (!(error instanceof NotFoundError) || error.code !== 'run_not_found') return null
  return new ConflictError('lease_lost', error.message, {
    hint: 'Stop working on it: there is nowhere to store a result.',
    cause: error,
  })
}
