/**
 * The store: the only truth, by noun. Every verb is one transaction, with its audit rows in it; no
 * connection or transaction crosses this port. A verb that rejects has changed nothing, unless it
 * rejects with StoreUnavailableError: a commit whose answer is lost is looked up before the verb
 * answers, but a store that stays away leaves it unknown.
 *
 * Deadlocks, serialisation failures, a busy file and lost compare-and-sets are retried inside; what
 * stays contended for half a minute is a StoreContendedError, never "unavailable".
 *
 * A new noun is a file in src/store, a class in src/stores/nouns and a line here.
 */
import type { AuditStore } from './store/audit-store.ts'
import type { CatchUpStore } from './store/catch-up-store.ts'
import type { InboxStore } from './store/inbox-store.ts'
import type { OutboxStore } from './store/outbox-store.ts'
import type { RepositoryStore } from './store/repository-store.ts'
import type { RunStore } from './store/run-store.ts'
import type { TokenStore } from './store/token-store.ts'
import type { UpkeepStore } from './store/upkeep-store.ts'

export interface Store {
  /** The store's one clock: this process's on SQLite, the server's on PostgreSQL. */
  now(): number
  /** Rejects with StoreUnavailableError unless the store answers and its clock is known. */
  ping(): Promise<void>
  close(): Promise<void>

  /** Work on subjects: claimed, held, ended. */
  readonly runs: RunStore
  /** Webhooks: what came in, what was decided about it, what waits. */
  readonly inbox: InboxStore
  /** What has to leave, and who sends it. */
  readonly outbox: OutboxStore
  /** What happened, in the order of commits. */
  readonly audit: AuditStore
  readonly tokens: TokenStore
  readonly repositories: RepositoryStore
  /** What was heard, and what GitHub still has to be asked about. */
  readonly catchUp: CatchUpStore
  /** Who serves the store, and what is past retention. */
  readonly upkeep: UpkeepStore
}

/**
 * What somebody needs of the store, by noun: `StorePart<{ runs: 'claim' | 'get'; audit: 'list' }>`.
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
export type * from './store/token-store.ts'
export type * from './store/upkeep-store.ts'
