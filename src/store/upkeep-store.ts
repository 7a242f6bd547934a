/**
 * Port: upkeep of the store: who serves it, when it was interrupted, what is past retention,
 * whether it is a sandbox, and its own id.
 */
export interface UpkeepStore {
  /** Stores a sign of life of this server, and notices interruptions. */
  beat(): Promise<void>
  /** The same for a program that is no server: it only notices interruptions. */
  watch(): Promise<void>
  /** The last sign of life of a server, exact to a few seconds; null if none ever served. */
  servedAt(): Promise<number | null>
  /** For `doctor`. Its cost is bounded. */
  vitals(): Promise<StoreVitals>
  /** Removes one batch of what is past retention. Call again until `more` is false. */
  purge(limits: PurgeLimits, actor: string): Promise<PurgeAnswer>
  /** Stores `mode` at the first start. Returns the mode of that first start. */
  recordMode(mode: StoreMode): Promise<StoreMode>
  /** Null before the first start. Events from before it were never meant for this store. */
  firstStartedAt(): Promise<number | null>
  /**
   * The id of this store, made at the first call and never changed: 32 hex digits. Two
   * installations that share a queue are told apart by it. A copy of the database keeps it.
   */
  storeId(): Promise<string>
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
  /** A server's last sign of life, exact to a few seconds. */
  readonly aliveAt: number | null
  /** Runs that a worker could take now. */
  readonly pending: Counted & {
    readonly oldestAt: number | null
    readonly types: readonly string[]
  }
  /** Runs that the sweeper should have checked more than a minute ago. */
  readonly overdue: Counted
}
