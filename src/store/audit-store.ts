/**
 * Port: the audit. The verbs write its rows, in their own transactions. Here the rows are read, in
 * the order of commits.
 */
import type { AuditRow, RefusedCredential } from '../domain/audit.ts'
import type { Page, Paged } from './page.ts'

export interface AuditStore {
  /** Newest first, in the order of commits. If the filter names a time, in the order of time. */
  list(filter: AuditFilter, page: Page): Promise<Paged<AuditRow>>
  /** The rows with these ids that are not past their retention, in no order. */
  get(ids: readonly number[]): Promise<readonly AuditRow[]>
  /** Oldest first. A reader that continues after the last `order` that it got misses no commit. */
  after(order: number, filter: AuditFilter, limit: number): Promise<AuditBatch>
  /** The newest `order`, or 0. Every later commit gets a higher one. */
  latestOrder(): Promise<number>
  /**
   * Gives committed rows their `order`. Readers do it themselves. If it is also done now and then,
   * no reader finds a long backlog.
   */
  number(): Promise<void>
}

export interface AuditBatch {
  readonly rows: readonly AuditRow[]
  readonly more: boolean
}

export interface AuditFilter {
  readonly runId?: string
  /** What happened to this webhook. */
  readonly inboxId?: string
  readonly deliveryId?: string
  /** Only refusals because of this credential. */
  readonly refused?: RefusedCredential
  readonly type?: string
  /** Times at or after, and before. */
  readonly since?: number
  readonly until?: number
}
