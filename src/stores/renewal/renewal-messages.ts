/** What the main thread and the thread that renews leases tell each other. */
import type { RenewedLease } from '../../store/lease-renewal.ts'

export interface ThreadData {
  readonly url: string
  readonly sessionOptions: string
  /** The main thread raises it every second. */
  readonly signs: Int32Array
  /** Where each renewal is told; it never waits. Null: nowhere. */
  readonly tellFd: number | null
}

/** `drop` is the hash of a lease. */
export type ThreadMessage = { readonly keep: RenewedLease } | { readonly drop: string }
