/**
 * Port: renews leases although the event loop of this process is blocked, for example by a handler
 * that computes for minutes. SQLite needs none: no other process could take the run.
 */
export interface LeaseRenewal {
  /** Renews this lease from now on. Returns the function that ends this. */
  keep(lease: RenewedLease): () => void
  stop(): Promise<void>
}

export interface RenewedLease {
  readonly runId: string
  readonly leaseHash: string
  readonly leaseMs: number
  /** If the main thread gives no sign for so long, the lease is not renewed any more. */
  readonly timeoutMs: number
}
