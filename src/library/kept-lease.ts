/**
 * A lease that renews itself until it is let go, and tells through its AbortSignal when the run
 * was taken away: superseded, cancelled or given to another, in this process or any other.
 *
 * What must hold: a store that is away for a while is no loss; only the store's word is, and
 * the end of the instance itself.
 */
import type { LossCode } from '../domain/hold.ts'
import { ConflictError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Runs } from '../runs/runs.ts'
import type { Scheduler } from '../scheduler.ts'
import { delay } from '../scheduler.ts'
import { hashLeaseToken } from '../secrets.ts'

const retryMs = 1000
/** Not `ended`: whoever completed the run itself has lost nothing. */
const lossCodes: ReadonlySet<string> = new Set<LossCode>(['superseded', 'cancelled', 'lease_lost'])

export interface KeptLeaseOptions {
  readonly runs: Pick<Runs, 'heartbeat'>
  readonly scheduler: Scheduler
  readonly log: Log
  readonly runId: string
  readonly token: string
  readonly fence: number
  /** Nobody held this run before. */
  readonly isFirst: boolean
  readonly leaseMs: number
  readonly actor: string
  /** The run is gone: there is nothing left to renew. */
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
  readonly #keeping: Promise<void>

  constructor(options: KeptLeaseOptions) {
    this.runId = options.runId
    this.fence = options.fence
    this.isFirst = options.isFirst
    this.leaseHash = hashLeaseToken(options.token)
    this.#options = options
    this.#keeping = this.#keep()
  }

  /** Aborts with the ConflictError that says why the run is gone. */
  get signal(): AbortSignal {
    return this.#lost.signal
  }

  /**
   * Completes under this lease. While that is under way a renewal that is refused means nothing:
   * the completion may just have ended the run. If it fails, the lease is kept as before.
   */
  async finish<T>(complete: () => Promise<T>): Promise<T> {
    this.#finishing = true
    try {
      const done = await complete()
      await this.letGo()
      return done
    } catch (error) {
      if (error instanceof ConflictError) this.lose(error)
      throw error
    } finally {
      this.#finishing = false
    }
  }

  /** Stops renewing; the lease ends by itself unless the run was completed. */
  async letGo(): Promise<void> {
    this.#done.abort()
    await this.#keeping
  }

  /** Does it; where the store refuses because the run is gone, that is as good as any renewal. */
  async speak<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      const isLoss = error instanceof ConflictError && lossCodes.has(error.code)
      if (isLoss && !this.#finishing && !this.#done.signal.aborted) this.lose(error)
      throw error
    }
  }

  /**
   * Of an instance that closes. Nothing can be said under it any more, and another may be given the
   * run once it ends: whoever works under it is told to stop. A completion under way is waited for
   * by whoever made it, and says how it went.
   */
  async close(why: ConflictError): Promise<void> {
    if (!this.#finishing) this.lose(why)
    await this.letGo()
  }

  /** Whoever works under it is told to stop. */
  lose(error: ConflictError): void {
    this.#done.abort()
    this.#lost.abort(error)
    this.#options.onLost()
  }

  async #keep(): Promise<void> {
    const { runs, scheduler, log, runId, leaseMs, actor } = this.#options
    const signal = this.#done.signal
    const waitMs = Math.floor(leaseMs / 3)
    await delay(scheduler, 0, signal)
    while (!signal.aborted) {
      try {
        await runs.heartbeat({ runId, leaseHash: this.leaseHash, waitMs, signal }, actor)
      } catch (error) {
        if (error instanceof ConflictError && !this.#finishing) {
          this.lose(error)
          return
        }
        log.warn({ err: error, run_id: runId }, 'Could not renew the lease of a run; trying again')
        await delay(scheduler, Math.min(waitMs, retryMs), signal)
      }
    }
  }
}
