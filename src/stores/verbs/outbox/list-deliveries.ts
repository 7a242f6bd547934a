/**
 * Deliveries for people: lists, newest first, and a summary of what is open. All reads are bounded.
 */
import { anchorTarget } from '../../../domain/outbox/announce.ts'
import type { Delivery, DeliveryWait, ProtocolState } from '../../../domain/outbox/delivery.ts'
import { deliveryWaits, waitOf } from '../../../domain/outbox/delivery.ts'
import { mayArriveLate } from '../../../domain/outbox/protocol/follow-up.ts'
import type { TokenLimits } from '../../../domain/token-limits.ts'
import type {
  AnchorOf,
  AnchorPlace,
  DeliveryFilter,
  OutboxBacklog,
  LingeringDelivery,
} from '../../../store/outbox-store.ts'
import { backlogCountMax } from '../../../domain/outbox/backlog-count.ts'
import type { Page, Paged } from '../../../store.ts'
import { cutPage, pageAfterId, rowsToRead } from '../../paging.ts'
import type { Sql, Verb } from '../../sql.ts'
import { join, raw, sql } from '../../sql.ts'
import { inRepositories, ofTypes } from '../tokens/within-limits.ts'
import type { DeliveryOutline } from '../../tables/delivery-table.ts'
import {
  deliveriesAt,
  selectDeliveries,
  selectOutlines,
  selectProtocols,
} from '../../tables/delivery-table.ts'

const shownMax = 10
/** How many large protocol states are read for a summary. */
const largeMax = 50

export function* listDeliveries(
  filter: DeliveryFilter,
  page: Page,
  now: number,
): Verb<Paged<Delivery>> {
  const { status, wait, channel, runId, within } = filter
  const where: Sql[] = [pageAfterId(page)]
  if (status !== undefined) where.push(sql`status = ${status}`)
  if (channel !== undefined) where.push(sql`channel = ${channel}`)
  if (runId !== undefined) where.push(sql`run_id = ${runId}`)
  if (wait !== undefined) where.push(waits(wait, now))
  if (within !== undefined) {
    where.push(inRepositories(within, raw('repository_id')))
    if (within.types !== null) where.push(ofRunType(within))
  }
  const inOrder = sql`${join(where, ' AND ')} ORDER BY id DESC`
  const large = ['content', 'protocol', 'error_text']
  const count = yield* rowsToRead({ table: raw('delivery'), large, inOrder, limit: page.limit })
  const found = yield* selectDeliveries(sql`${inOrder} LIMIT ${count}`)
  return cutPage(found, page, (delivery) => delivery)
}

function ofRunType(within: TokenLimits): Sql {
  return sql`EXISTS (SELECT 1 FROM run WHERE run.id = delivery.run_id
    AND ${ofTypes(within, raw('run.type'))})`
}

/** The same rules as `waitOf`, in SQL. */
function waits(wait: DeliveryWait, now: number): Sql {
  const free = sql`status = 'PENDING' AND (leased_until IS NULL OR leased_until <= ${now})`
  if (wait === 'leased') return sql`status = 'PENDING' AND leased_until > ${now}`
  if (wait === 'backoff' || wait === 'budget') {
    return sql`${free} AND wait = ${wait} AND (due_at > ${now} OR queue IS NOT NULL)`
  }
  if (wait !== 'due') return sql`${free} AND wait = ${wait}`
  return sql`${free} AND (wait = 'due' OR
    (wait IN ('backoff', 'budget') AND due_at <= ${now} AND queue IS NULL))`
}

export function* anchorsOf(runs: readonly AnchorOf[]): Verb<Map<string, AnchorPlace>> {
  const shown = runs.filter(({ anchorPer }) => anchorPer !== null)
  const found = yield* deliveriesAt([...new Set(shown.map(anchorTarget))])
  const anchors = new Map<string, AnchorPlace>()
  for (const run of shown) {
    const { providerId, providerUrl } = found.get(anchorTarget(run)) ?? { providerId: null }
    if (providerId !== null)
      anchors.set(run.id, { commentId: providerId, url: providerUrl ?? null })
  }
  return anchors
}

export function* outboxBacklog(now: number): Verb<OutboxBacklog> {
  const open = yield* selectOutlines(
    sql`status = 'PENDING' ORDER BY changed_at LIMIT ${backlogCountMax}`,
  )
  const failed = yield* selectOutlines(
    sql`status = 'FAILED' ORDER BY status, id LIMIT ${backlogCountMax}`,
  )
  const counts = Object.fromEntries(deliveryWaits.map((wait) => [wait, 0])) as Record<
    DeliveryWait,
    number
  >
  for (const delivery of open) counts[waitOf(delivery, now) ?? 'due'] += 1
  const ends = [...open, ...failed].filter(({ final, kind }) => final && kind === 'state')
  const protocols = yield* selectProtocols(
    ends.map(({ id }) => id),
    largeMax,
  )
  const unreported = ends
    .filter((delivery) => mayShowWork(delivery, protocols.get(delivery.id)))
    .toSorted((a, b) => a.changedAt - b.changedAt)
  return {
    open: counts,
    oldestAt: open[0]?.changedAt ?? null,
    oldest: open.slice(0, shownMax).map((item) => lingering(item, now)),
    failed: failed.length,
    oldestFailed: failed.slice(0, shownMax).map((item) => lingering(item, now)),
    unreported: unreported.slice(0, shownMax).map((item) => lingering(item, now)),
    unreportedCount: unreported.length,
  }
}

/**
 * Whether GitHub may show at this target that work goes on: a version that says so was sent, or an
 * unanswered request may have put it there. If GitHub refused all of them, it shows nothing. A
 * target whose protocol state was not read, because it is one of many large ones, counts.
 */
function mayShowWork(
  { attemptId, providerId }: DeliveryOutline,
  protocol: ProtocolState | undefined,
): boolean {
  if (protocol === undefined) return true
  const isUnanswered =
    attemptId !== null || protocol.doubt !== undefined || mayArriveLate({ protocol })
  return protocol.showsWork === true && (providerId !== null || isUnanswered)
}

function lingering(delivery: DeliveryOutline, now: number): LingeringDelivery {
  const { id, runId, channel, status, changedAt, reason, errorCode } = delivery
  return {
    runId,
    deliveryId: id,
    channel,
    status,
    wait: waitOf(delivery, now),
    since: changedAt,
    reason: reason ?? errorCode,
  }
}
