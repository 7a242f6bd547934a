/**
 * The audit in the order of commits, so that a reader that follows it or pages through it misses
 * nothing.
 *
 * What must hold: once a reader can see a number, no row ever gets a lower one. On a database whose
 * ids are not in the order of commits, rows get their number after the commit. Only one transaction
 * at a time does that. The next one starts after its commit, above its last number.
 */
import type { AuditRow } from '../../../domain/audit.ts'
import type { AuditBatch, AuditFilter, Page, Paged } from '../../../store.ts'
import { cutPage, pageAfterNumber, pageAfterPair, rowsToRead } from '../../paging.ts'
import type { Sql, Verb } from '../../sql.ts'
import { join, padded, raw, sql } from '../../sql.ts'
import { selectAudits } from '../../tables/audit-table.ts'
import type { VerbContext } from '../context.ts'
import { lockState, writeState } from '../../tables/state-table.ts'

/** Limits how long others wait for the transaction that gives the numbers. */
const numberedMax = 1000

/** Gives committed rows their numbers. Returns true if there may be more of them. */
export function* numberAudits(): Verb<boolean> {
  const last = Number(yield* lockState('audit_order', '0'))
  const numbered = yield sql`UPDATE audit SET seq = next.seq FROM (
      SELECT id, ${last} + row_number() OVER (ORDER BY id) AS seq FROM (
        SELECT id FROM audit WHERE seq IS NULL ORDER BY id LIMIT ${numberedMax}) AS unnumbered
    ) AS next WHERE audit.id = next.id RETURNING audit.seq`
  if (numbered.length === 0) return false
  // A row that is purged meanwhile leaves a gap, so the last number is not the count.
  const newLast = numbered.reduce((most, row) => Math.max(most, Number(row['seq'])), last)
  yield* writeState('audit_order', String(newLast))
  return numbered.length === numberedMax
}

export interface LatestAudit {
  readonly order: number
  readonly hasUnnumbered: boolean
}

/** The newest number, and whether a row still has none. One cheap query. */
export function* latestAudit({ dialect }: VerbContext): Verb<LatestAudit> {
  const waiting = dialect.numbersAuditsLater
    ? raw('EXISTS (SELECT 1 FROM audit WHERE seq IS NULL)')
    : raw('FALSE')
  const [row] = yield sql`SELECT max(${dialect.auditOrder}) AS latest, ${waiting} AS unnumbered
    FROM audit`
  return { order: Number(row?.['latest'] ?? 0), hasUnnumbered: row?.['unnumbered'] === true }
}

/**
 * Reads along one index: by run, webhook, delivery, refused credential, type or time. A second
 * filter skips rows of that index.
 */
export function* listAudit(
  { dialect }: VerbContext,
  filter: AuditFilter,
  page: Page,
): Verb<Paged<AuditRow>> {
  const order = dialect.auditOrder
  const at = raw('at')
  // Commits are nearly, but not quite, in the order of time. If the filter names a time, any other
  // order would have to search the whole history for rows that are out of order.
  const byTime = filter.since !== undefined || filter.until !== undefined
  const after = byTime ? pageAfterPair(page, at, order) : pageAfterNumber(page, order)
  const newestFirst = byTime ? sql`at DESC, ${order} DESC` : sql`${order} DESC`
  const inOrder = sql`${join([after, ...matching(filter)], ' AND ')} ORDER BY ${newestFirst}`
  const found = yield* selectPage(order, inOrder, page.limit)
  const placeOf = (row: AuditRow): string | number =>
    byTime ? `${row.at}.${row.order}` : row.order
  return cutPage(found, page, (row) => row, placeOf)
}

export function* getAudits({ dialect }: VerbContext, ids: readonly number[]): Verb<AuditRow[]> {
  return yield* selectAudits(dialect.auditOrder, sql`id IN (${join(padded(ids))})`)
}

export function* auditAfter(
  { dialect }: VerbContext,
  order: number,
  filter: AuditFilter,
  limit: number,
): Verb<AuditBatch> {
  const place = dialect.auditOrder
  const where = join([sql`${place} > ${order}`, ...matching(filter)], ' AND ')
  const found = yield* selectPage(place, sql`${where} ORDER BY ${place}`, limit)
  const { items, nextCursor } = cutPage(found, { limit, cursor: null }, (row) => row)
  return { rows: items, more: nextCursor !== null }
}

/** The page and the row after it. */
function* selectPage(order: Sql, inOrder: Sql, limit: number): Verb<AuditRow[]> {
  const count = yield* rowsToRead({ table: raw('audit'), large: ['data'], inOrder, limit })
  return yield* selectAudits(order, sql`${inOrder} LIMIT ${count}`)
}

function matching(filter: AuditFilter): Sql[] {
  const { runId, inboxId, deliveryId, refused, type, since, until } = filter
  const where: Sql[] = []
  if (runId !== undefined) where.push(sql`run_id = ${runId}`)
  if (inboxId !== undefined) where.push(sql`inbox_id = ${inboxId}`)
  if (deliveryId !== undefined) where.push(sql`delivery_id = ${deliveryId}`)
  if (refused !== undefined) where.push(sql`refused = ${refused}`)
  if (type !== undefined) where.push(sql`type = ${type}`)
  if (since !== undefined) where.push(sql`at >= ${since}`)
  if (until !== undefined) where.push(sql`at < ${until}`)
  return where
}
