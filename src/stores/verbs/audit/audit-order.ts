/**
 * The audit in the order of commits, so that whoever follows it or pages through it loses nothing.
 *
 * What must hold: once a reader can see a place, no row ever gets a lower one. Where ids do not
 * tell the order, places are given after the commit, by one giver at a time: the next giver begins
 * after the commit of the one before, above its last number.
 */
import type { AuditRow } from '../../../domain/audit.ts'
import type { AuditBite, AuditFilter, Page, Paged } from '../../../store.ts'
import { cutPage, pageAfterNumber, pageAfterPair, rowsToRead } from '../../paging.ts'
import type { Sql, Verb } from '../../sql.ts'
import { join, padded, raw, sql } from '../../sql.ts'
import { selectAudits } from '../../tables/audit-table.ts'
import type { VerbContext } from '../context.ts'
import { lockState, writeState } from '../../tables/state-table.ts'

/** Bounds how long a giver keeps the others waiting. */
const placedMax = 1000

/** Gives committed rows their places; true when there may be more of them. */
export function* placeAudits(): Verb<boolean> {
  const last = Number(yield* lockState('audit_order', '0'))
  const placed = yield sql`UPDATE audit SET seq = next.seq FROM (
      SELECT id, ${last} + row_number() OVER (ORDER BY id) AS seq FROM (
        SELECT id FROM audit WHERE seq IS NULL ORDER BY id LIMIT ${placedMax}) AS unplaced
    ) AS next WHERE audit.id = next.id RETURNING audit.seq`
  if (placed.length === 0) return false
  // A row that is purged meanwhile leaves a gap, so the last number is not the count.
  const newLast = placed.reduce((most, row) => Math.max(most, Number(row['seq'])), last)
  yield* writeState('audit_order', String(newLast))
  return placed.length === placedMax
}

export interface LatestAudit {
  readonly order: number
  readonly unplaced: boolean
}

/** One cheap look: the newest place, and whether a row still waits for one. */
export function* latestAudit({ dialect }: VerbContext): Verb<LatestAudit> {
  const waiting = dialect.placesAudits
    ? raw('EXISTS (SELECT 1 FROM audit WHERE seq IS NULL)')
    : raw('FALSE')
  const [row] = yield sql`SELECT max(${dialect.auditOrder}) AS latest, ${waiting} AS unplaced
    FROM audit`
  return { order: Number(row?.['latest'] ?? 0), unplaced: row?.['unplaced'] === true }
}

/**
 * Along an index by run, webhook, delivery, what was refused, type or time; more than one of them
 * leaves out rows.
 */
export function* listAudit(
  { dialect }: VerbContext,
  filter: AuditFilter,
  page: Page,
): Verb<Paged<AuditRow>> {
  const order = dialect.auditOrder
  const at = raw('at')
  // Commits are nearly in the order of time, but not quite: where the time says what belongs to the
  // list, any other order would have to look at all of history for stragglers.
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
): Verb<AuditBite> {
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
