/**
 * Port: the audit. Rows are written by the verbs themselves, in their own transactions; here they
 * are read, in the order of commits.
 */
import type { AuditRow, RefusedCredential } from '../domain/audit.ts'
import type { Page, Paged } from './page.ts'

export interface AuditStore {
  /** Newest first, in the order of commits; by time where the filter names a time. */
  list(filter: AuditFilter, page: Page): Promise<Paged<AuditRow>>
  /** Those of these ids that are not past their retention, in no order. */
  get(ids: readonly number[]): Promise<readonly AuditRow[]>
  /** Oldest first. Whoever goes on from the last `order` it was given misses no commit. */
  after(order: number, filter: AuditFilter, limit: number): Promise<AuditBite>
  /** The newest `order`, or 0; whatever is committed from now on is above it. */
  latestOrder(): Promise<number>
  /**
   * Numbers committed rows. Readers do it themselves; done now and then, none of them meets a long
   * backlog.
   */
  number(): Promise<void>
}

export interface AuditBite {
  readonly rows: readonly AuditRow[]
  readonly more: boolean
}

export interface AuditFilter {
  readonly runId?: string
  /** What happened to this webhook. */
  readonly inboxId?: string
  readonly deliveryId?: string
  /** What was refused because this was wrong. */
  readonly refused?: RefusedCredential
  readonly type?: string
  /** Times at or after, and before. */
  readonly since?: number
  readonly until?: number
}
