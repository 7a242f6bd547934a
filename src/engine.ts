/**
 * Port: says *when* to look at the store. The store's lease says *whether* there is work.
 *
 * What must hold: everything here is a hint. It may be lost, late or doubled, and the store must
 * come out the same. So a caller announces after its commit and waits for nothing, and every
 * process also looks at the store by itself, at least every 5 seconds.
 */

/** A run that may be free to be leased. */
export interface WakeUp {
  readonly runId: string
  /** The fence with which it became free. A lease that was granted since has a higher one. */
  readonly fence: number
  readonly type: string
}

export type Heard = 'looked' | 'full' | undefined

export interface EngineListener {
  /**
   * A run of this type may be available. Never rejects. Resolves with `looked` if the store was
   * then asked for runs of this type, as many as this process has slots for. So whatever was
   * announced before the call needs no other look. With `full` if this process has no slot for the
   * run and has paused the type: the wake-up is kept for a later one, or for another process.
   */
  runAvailable(wakeUp: WakeUp): Promise<Heard>
  /** These runs may have lost their holder (cancelled, superseded, ended): look. */
  runsLost(runIds: readonly string[]): void
}

export interface Engine {
  readonly name: 'embedded' | 'bullmq'
  /**
   * After the commit that made these runs available. Returns at once, never throws, never waits. A
   * wake-up that no process listens for is dropped.
   */
  announce(wakeUps: readonly WakeUp[]): void
  /** After the commit that took these runs from their holders. Likewise. */
  announceLost(runIds: readonly string[]): void
  /**
   * From now on the listener gets wake-ups of these types, one at a time for each type, and the
   * word about lost runs. Without types it gets only that word. Called at most once.
   */
  listen(types: readonly string[], listener: EngineListener): void
  /** This process has no free slot for the type: no wake-up of it is taken until `resume`. */
  pause(type: string): void
  resume(type: string): void
  /** For doctor, /readyz and /metrics. Answers within 2 seconds, never rejects. */
  health(): Promise<EngineHealth>
  /** Within 2 seconds, also without the queue's server. The listener hears nothing after it. */
  stop(): Promise<void>
}

export interface EngineHealth {
  readonly name: Engine['name']
  /** False: wake-ups are lost now, and processes find runs only by looking at the store. */
  readonly ok: boolean
  /** In whole sentences: what is used, or what is wrong. */
  readonly detail: string
  /** What to do about it; null if it is ok. */
  readonly remedy: string | null
  /** What works, but should be changed. */
  readonly warnings: readonly EngineWarning[]
  /** By type, wake-ups that nobody has taken yet; null if that is unknown now. */
  readonly waiting: Readonly<Record<string, number | null>>
}

export interface EngineWarning {
  readonly detail: string
  readonly remedy: string
}

/**
 * How many wake-ups of one type may wait. More would not help: whoever takes one then takes the
 * next run from the store by itself.
 */
export const waitingMax = 1000
