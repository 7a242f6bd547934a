/**
 * A run that this process holds, for its executor: the lease that is kept, and the signal that
 * stops the work. Any reason to stop is final. After it every call on the run throws.
 */
import type { Clock } from '../clock.ts'
import { ConflictError, isStoreAway } from '../errors.ts'
import { StopWork, stopReasons, type HeldRun, type StopReason } from '../executor.ts'
import type { Log } from '../log.ts'
import { KeptLease, refusalIn } from '../runs/kept-lease.ts'
import type { Leased, Runs } from '../runs/runs.ts'
import { delay, type Scheduler } from '../scheduler.ts'

const retryMs = 1000

export interface HoldOptions {
  readonly runs: Pick<Runs, 'heartbeat' | 'untilLost'>
  /** The store's clock. */
  readonly now: () => number
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly log: Log
  readonly actor: string
  /** See `WorkLoopOptions`. */
  readonly silenceMs: number | null
}

/** A silence that outlasts two thirds of such a lease is always noticed as an interruption. */
const interruptedLeaseMs = 6000

export class LeasedRun implements HeldRun {
  readonly run: HeldRun['run']
  readonly steps: HeldRun['steps']
  readonly runToken: string
  readonly actor: string
  readonly lease: KeptLease
  readonly #options: HoldOptions
  readonly #stop = new AbortController()
  readonly #listeners: (() => void)[] = []
  #liveUntilMs: number

  constructor({ run, steps, lease, runToken }: Leased, options: HoldOptions, leasedAtMs: number) {
    this.run = run
    this.steps = steps
    this.runToken = runToken
    this.actor = options.actor
    this.#options = options
    this.#liveUntilMs = leasedAtMs + run.leaseMs
    this.lease = new KeptLease({
      ...options,
      runId: run.id,
      token: lease.token,
      fence: run.fence,
      isFirst: false,
      leaseMs: run.leaseMs,
      renewAtOnce: false,
      onRenewed: (liveUntilMs) => this.#renewed(liveUntilMs),
      onLost: () => this.#lost(),
    })
  }

  get leaseHash(): string {
    return this.lease.leaseHash
  }

  get leaseMs(): number {
    return this.run.leaseMs
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  /** Null while the work may go on. */
  get stoppedBy(): StopReason | null {
    const reason: unknown = this.signal.reason
    return reason instanceof StopWork ? reason.code : null
  }

  liveMs(): number {
    return Math.max(0, this.#liveUntilMs - this.#options.clock.monotonicMs())
  }

  safeMs(): number {
    const { silenceMs, now } = this.#options
    const { deadlineAt } = this.run
    const liveMs = this.liveMs()
    if (silenceMs === null || deadlineAt === null || this.leaseMs < interruptedLeaseMs)
      return liveMs
    return Math.max(liveMs, Math.min(silenceMs, deadlineAt - now()))
  }

  checkHeld(): void {
    this.signal.throwIfAborted()
  }

  async ensureLive(): Promise<void> {
    this.checkHeld()
    // The answer may come after the end of the renewed lease: this process may have been stopped.
    while (this.liveMs() <= 0) {
      await this.#renewOnce()
      this.checkHeld()
    }
  }

  /** A store that cannot be reached has not said that the lease is lost. */
  async #renewOnce(): Promise<void> {
    try {
      await this.lease.renewNow()
    } catch (error) {
      this.checkHeld()
      // The run was completed with its run token, which the next renewal notices too.
      if (refusalIn(error) !== null) throw new StopWork('ended')
      await this.#waitToAsk(error)
    }
  }

  async #waitToAsk(error: unknown): Promise<void> {
    const { scheduler, log } = this.#options
    log.warn({ err: error, run_id: this.run.id }, 'Could not reach the store; trying again')
    await delay(scheduler, retryMs, this.signal)
  }

  async askStore<T>(ask: () => Promise<T>): Promise<T> {
    for (;;) {
      this.checkHeld()
      try {
        return await this.lease.whileHeld(ask)
      } catch (error) {
        if (!isStoreAway(error)) throw error
        this.checkHeld()
        await this.#waitToAsk(error)
      }
    }
  }

  onRenewed(listener: () => void): void {
    this.#listeners.push(listener)
  }

  async whileHeld<T>(work: () => Promise<T>): Promise<T> {
    this.checkHeld()
    return await this.lease.whileHeld(work)
  }

  async tellResult<T>(tell: () => Promise<T>): Promise<T> {
    return await this.lease.whileHeld(tell)
  }

  stopWork(reason: StopReason): void {
    if (!this.signal.aborted) this.#stop.abort(new StopWork(reason))
  }

  #renewed(liveUntilMs: number): void {
    this.#liveUntilMs = liveUntilMs
    for (const listener of this.#listeners) listener()
  }

  #lost(): void {
    const reason: unknown = this.lease.signal.reason
    const code = reason instanceof ConflictError ? reason.code : ''
    const known = stopReasons.find((one) => one === code) ?? 'lease_lost'
    this.stopWork(known === 'lease_lost' && this.#isTooLate() ? 'timeout' : known)
  }

  /** A run that took too long has failed, and its holder is told no more than `lease_lost`. */
  #isTooLate(): boolean {
    const { deadlineAt } = this.run
    return deadlineAt !== null && deadlineAt <= this.#options.now()
  }
}
