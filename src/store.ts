/**
 * Port: the store, by noun. Every verb is one transaction that includes its audit rows. No
 * connection and no transaction crosses this port.
 *
 * A verb that rejects has changed nothing, with one exception: StoreUnavailableError. If the answer
 * to a commit is lost, the verb finds out whether it committed. If the store stays unreachable,
 * that is unknown.
 *
 * The store itself retries after deadlocks, serialisation failures, a busy file and lost
 * compare-and-sets. After half a minute it rejects with StoreContendedError, never "unavailable".
 *
 * A new noun is a file in src/store, a class in src/stores/sql-store and a line here.
 */
import type { AuditStore } from './store/audit-store.ts'
import type { CatchUpStore } from './store/catch-up-store.ts'
import type { InboxStore } from './store/inbox-store.ts'
import type { OutboxStore } from './store/outbox-store.ts'
import type { RepositoryStore } from './store/repository-store.ts'
import type { RunStore } from './store/run-store.ts'
import type { StepStore } from './store/step-store.ts'
import type { TokenStore } from './store/token-store.ts'
import type { UpkeepStore } from './store/upkeep-store.ts'

export interface Store {
  /** The time of the store: this process's clock on SQLite, the server's clock on PostgreSQL. */
  now(): number
  /** Rejects with StoreUnavailableError if the store does not answer or its clock is unknown. */
  ping(): Promise<void>
  close(): Promise<void>

  /** Work on subjects: to claim it, to hold it, to end it. */
  readonly runs: RunStore
  /** Pieces of a run's work, with their results. */
  readonly steps: StepStore
  /** Webhooks: what arrived, what was decided about it, what waits. */
  readonly inbox: InboxStore
  /** What has to leave, and who sends it. */
  readonly outbox: OutboxStore
  /** What happened, in the order of commits. */
  readonly audit: AuditStore
  readonly tokens: TokenStore
  readonly repositories: RepositoryStore
  /** Which webhooks were received, and what GitHub still has to be asked about. */
  readonly catchUp: CatchUpStore
  /** Who serves the store, and what is past retention. */
  readonly upkeep: UpkeepStore
}

/**
 * The part of the store that a caller needs: `StorePart<{ runs: 'claim' | 'get'; audit: 'list' }>`.
 */
export type StorePart<P extends { readonly [N in Noun]?: keyof Store[N] }> = {
  readonly [N in keyof P & Noun]: Pick<Store[N], Extract<P[N], keyof Store[N]>>
}
type Noun = Exclude<keyof Store, 'now' | 'ping' | 'close'>

export type * from './store/audit-store.ts'
export type * from './store/catch-up-store.ts'
export type * from './store/inbox-store.ts'
export type * from './store/idempotency-key.ts'
export type * from './store/outbox-store.ts'
export type * from './store/page.ts'
export type * from './store/repository-store.ts'
export type * from './store/run-store.ts'
export type * from './store/step-store.ts'
export type * from './store/token-store.ts'
export type * from './store/upkeep-store.ts'
