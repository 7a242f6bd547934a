/**
 * Port: does the work of a run that this process has leased. The work loop (src/work) leases runs,
 * keeps their leases and stores how they ended. An executor only does the work.
 */
import type { Completion } from './domain/completion.ts'
import type { Run } from './domain/run.ts'
import type { Step } from './domain/step.ts'

export interface Executor {
  /**
   * Works until the work is done, or until `held.signal` aborts and the work has stopped. May
   * reject: the run has then failed.
   */
  execute(held: HeldRun): Promise<WorkEnd>
  /** How long work may take to stop after the signal aborted. If it goes on then, it is stuck. */
  readonly stopMsMax: number
}

/**
 * `completed`: this is how it ended, and it has to be stored. `held`: a person has to decide about
 * a step; that is stored already. `stopped`: the signal aborted before it was done. `cut_off`: a
 * fault of this machine has ended the work, which counts as an attempt. `abandoned`: the same, but
 * something of the work may go on, so its lease runs out first.
 */
export type WorkEnd =
  | {
      readonly end: 'completed'
      readonly completion: Completion
      /** Parts of the work that were told to stop and go on. */
      readonly stillRunning?: Promise<unknown> | null
    }
  | { readonly end: 'held' }
  | { readonly end: 'stopped' | 'cut_off' | 'abandoned' }

/** A run that this process holds. */
export interface HeldRun {
  readonly run: Run
  /** The steps of its round that are stored so far: see `LeaseAnswer`. */
  readonly steps: readonly Step[]
  readonly leaseHash: string
  /** The bearer token of a child process. Never logged. */
  readonly runToken: string
  readonly leaseMs: number
  /** Its name in the audit. */
  readonly actor: string
  /** Aborts when the work has to stop. Its reason is a StopWork. */
  readonly signal: AbortSignal
  /** Null while the work may go on. */
  readonly stoppedBy: StopReason | null
  /** How long the lease is still live, by the monotonic clock. */
  liveMs(): number
  /** How long nobody else takes the run, even if this process gives no sign any more. */
  safeMs(): number
  /** Throws the reason of the signal once it has aborted. */
  checkHeld(): void
  /**
   * Resolves when the lease is live by the monotonic clock: at once, or after it was renewed.
   * Throws if it is lost. An effect starts only after this.
   */
  ensureLive(): Promise<void>
  /** Stops the work. The first reason counts. */
  stopWork(reason: StopReason): void
  /** `listener` is called whenever the lease was renewed. */
  onRenewed(listener: () => void): void
  /**
   * Asks the store something for the run, again while the store cannot be reached. Throws the
   * reason of the signal once it has aborted.
   */
  askStore<T>(ask: () => Promise<T>): Promise<T>
  /** Does work in the store for the run. If the store says that the run is lost, work stops. */
  whileHeld<T>(work: () => Promise<T>): Promise<T>
  /** The same for a result, which the store is told also after the run was lost: it may count. */
  tellResult<T>(tell: () => Promise<T>): Promise<T>
}

/**
 * Why work has to stop. `ended`: the run was completed with its own run token, or its handler has
 * returned or thrown. `timeout`: it took
 * too long, and has failed. `shutdown`: this process stops, and gives the run back.
 */
export const stopReasons = [
  'superseded',
  'cancelled',
  'ended',
  'lease_lost',
  'timeout',
  'held',
  'shutdown',
] as const
export type StopReason = (typeof stopReasons)[number]

const stopTexts: Readonly<Record<StopReason, string>> = {
  superseded: 'a newer head has taken the place of this run',
  cancelled: 'the run was cancelled',
  ended: 'the run has ended: its function has returned, or it was completed with its run token',
  lease_lost: 'the run has another holder now, or none',
  timeout: 'the run took longer than its timeoutMs and has failed',
  held: 'the run waits for a decision about one of its steps',
  shutdown: 'this process stops, and another one continues the run',
}

/** The reason of a run's AbortSignal. Every later call on the run throws it. */
export class StopWork extends Error {
  readonly code: StopReason

  constructor(code: StopReason) {
    super(stopTexts[code])
    this.name = 'StopWork'
    this.code = code
  }
}
