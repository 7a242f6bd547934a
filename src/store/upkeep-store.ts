/**
 * Port: the store's own life. Who serves it, what it missed, what is past retention, and whether
 * it is a sandbox.
 */
export interface UpkeepStore {
  /** Says the store is being served, and notices when it was not. */
  beat(): Promise<void>
  /** The same for a program that serves nobody: it notices when the store was away. */
  watch(): Promise<void>
  /** When a server last said that it is active, to a few seconds; null when none ever served. */
  servedAt(): Promise<number | null>
  /** For `doctor`. Bounded, however much there is. */
  vitals(): Promise<StoreVitals>
  /** One bounded bite of what is past retention. Call again until `more` is false. */
  purge(limits: PurgeLimits, actor: string): Promise<PurgeAnswer>
  /** Remembers `mode` at first start; answers what the store has been from its beginning. */
  recordMode(mode: StoreMode): Promise<StoreMode>
  /** Null before the first start. What happened before it was never ours to hear of. */
  firstStartedAt(): Promise<number | null>
}

export type StoreMode = 'sandbox' | 'live'

export interface PurgeLimits {
  readonly finishedMs: number
  readonly supersededMs: number
  readonly auditMs: number
  readonly eventMs: number
}

export interface PurgeAnswer {
  readonly runs: number
  readonly more: boolean
}

export interface Counted {
  readonly count: number
  readonly more: boolean
}

export interface StoreVitals {
  /** Null before the first start. */
  readonly mode: StoreMode | null
  /** A server's last sign of life; stale by a few seconds. */
  readonly aliveAt: number | null
  /** Runs that a worker could take now. */
  readonly pending: Counted & {
    readonly oldestAt: number | null
    readonly types: readonly string[]
  }
  /** Runs that the sweeper should have looked at over a minute ago. */
  readonly overdue: Counted
}
