/** What a new holder of a run brings: its secret, how long it asks for, and who it is. */

/**
 * Who holds the lease; it decides what happens when the lease is lost: see `sweep`. A `caller`
 * claimed the run, or leased it to do its own work; a `worker` leased it to do anybody's; an
 * `executor` is one of our own processes.
 */
export type Holder = 'caller' | 'worker' | 'executor'

export interface LeaseGrant {
  /** Handed to the holder; only its hash is ever stored. */
  readonly secret: string
  readonly hash: string
  readonly ms: number
  readonly holder: Holder
  readonly worker: string | null
  readonly token?: LeaseToken | null
  /** Secrets of earlier claims of this key whose answer never reached the claimer. */
  readonly unanswered?: readonly LeaseSecret[]
}

export interface LeaseSecret {
  readonly secret: string
  readonly hash: string
}

/** The token a lease was obtained with: the lease does not outlive it. */
export interface LeaseToken {
  readonly id: string
  /** Null when it does not end by itself. */
  readonly until: number | null
}
