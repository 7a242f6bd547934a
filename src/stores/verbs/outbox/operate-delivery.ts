/** What operators say about deliveries, and what the reconciler finds left open. */
import type { AuditDraft } from '../../../domain/audit.ts'
import type { Delivery } from '../../../domain/outbox/delivery.ts'
import { isLeased } from '../../../domain/outbox/delivery.ts'
import { hasArrived, leaveIt, maySendAgain, sendAgain } from '../../../domain/outbox/operate.ts'
import { isActive } from '../../../domain/run.ts'
import { ConflictError, deliveryNotFound } from '../../../errors.ts'
import type { RetryFilter } from '../../../store/outbox-store.ts'
import type { Row, Sql, Verb } from '../../sql.ts'
import { join, sql } from '../../sql.ts'
import { insertAudit, insertAudits, lastEndOf } from '../../tables/audit-table.ts'
import { selectDeliveries, selectDelivery } from '../../tables/delivery-table.ts'
import { storeUnclosed } from '../../tables/unclosed-run-table.ts'
import { announceState } from './announce.ts'
import { repeatCovered } from './repeat-covered.ts'
import type { VerbContext } from '../context.ts'
import { lockRun } from '../context.ts'
import { enterLine, storeDeliveries } from './store-deliveries.ts'

const bulkMax = 1000

export function* retryDelivery(context: VerbContext, id: string, actor: string): Verb<Delivery> {
  const delivery = yield* find(id)
  if (delivery.status === 'SENT') throw alreadySent(delivery, 'sent again')
  if (!maySendAgain(delivery)) throw taken(delivery)
  const again = yield* sentAgain(context, delivery)
  return yield* storeOne(context, again, {
    type: 'operator.delivery_retried',
    actor,
    was: delivery,
    data: {},
  })
}

export function* retryDeliveries(
  context: VerbContext,
  filter: RetryFilter,
  actor: string,
): Verb<number> {
  const { status = 'FAILED', channel, runId } = filter
  const where: Sql[] = [sql`status = ${status}`]
  if (channel !== undefined) where.push(sql`channel = ${channel}`)
  if (runId !== undefined) where.push(sql`run_id = ${runId}`)
  const named = yield* selectDeliveries(
    sql`${join(where, ' AND ')} ORDER BY status, id LIMIT ${bulkMax}`,
  )
  const found = named.filter(maySendAgain)
  const now = context.now()
  const ids = yield* insertAudits(
    found.map((was) => told({ type: 'operator.delivery_retried', actor, was, data: {} })),
    null,
    now,
  )
  for (const [i, delivery] of found.entries()) {
    const again = yield* sentAgain(context, delivery)
    yield* storeDeliveries(context, [{ ...again, causeId: ids[i] ?? again.causeId }])
  }
  return found.length
}

/** A message goes behind the others of its run, as when it was published. */
function* sentAgain(context: VerbContext, delivery: Delivery): Verb<Delivery> {
  const now = context.now()
  const again = sendAgain(delivery, now, context.publishing)
  return isLeased(again, now) ? again : yield* enterLine(context, again)
}

export function* skipDelivery(
  context: VerbContext,
  id: string,
  reason: string,
  actor: string,
): Verb<Delivery> {
  const delivery = yield* find(id)
  if (delivery.status === 'SENT') throw alreadySent(delivery, 'skipped')
  if (!maySendAgain(delivery)) throw taken(delivery)
  return yield* storeOne(context, leaveIt(delivery, reason, context.now()), {
    type: 'operator.delivery_skipped',
    actor,
    was: delivery,
    data: { reason },
  })
}

export function* confirmDelivery(
  context: VerbContext,
  id: string,
  providerId: string | null,
  actor: string,
): Verb<Delivery> {
  const delivery = yield* find(id)
  if (delivery.status === 'SENT') return delivery
  // Confirmed, it would be kept up to date beside the one that has its place.
  if (!maySendAgain(delivery)) throw taken(delivery)
  const confirmed = yield* storeOne(context, hasArrived(delivery, providerId, context.now()), {
    type: 'operator.delivery_confirmed',
    actor,
    was: delivery,
    data: { provider_id: providerId },
  })
  yield* repeatCovered(context, delivery, confirmed, confirmed.causeId)
  return confirmed
}

function* find(id: string): Verb<Delivery> {
  const delivery = yield* selectDelivery(id)
  if (delivery !== null) return delivery
  throw deliveryNotFound(id)
}

function alreadySent({ id }: Delivery, what: string): ConflictError {
  return new ConflictError('already_sent', `delivery ${id} was sent and cannot be ${what}`, {
    hint: 'What was sent is final; publish something new instead.',
  })
}

function taken({ id }: Delivery): ConflictError {
  return new ConflictError('target_taken', `another delivery has taken the place of ${id}`, {
    hint: 'See the deliveries of its run: the one that stands there now is kept up to date.',
  })
}

interface Said {
  readonly type: AuditDraft['type']
  readonly actor: string
  readonly was: Delivery
  readonly data: AuditDraft['data']
}

function* storeOne(context: VerbContext, delivery: Delivery, said: Said): Verb<Delivery> {
  const causeId = yield* insertAudit(told(said), null, context.now())
  const [stored] = yield* storeDeliveries(context, [{ ...delivery, causeId }])
  return stored ?? delivery
}

function told({ type, actor, was, data }: Said): AuditDraft {
  const before = { was: was.status, ...(was.wait !== null && { waited_for: was.wait }) }
  return { type, actor, runId: was.runId, deliveryId: was.id, data: { ...before, ...data } }
}

/**
 * Ended runs whose announcement still says that something is under way. No verb of ours leaves one
 * behind; an older version of this program, or a hand in the database, may have. What such a run
 * published itself is noted for `closeRest`, which closes it in bites.
 */
export function* closeForgotten(context: VerbContext, limit: number): Verb<number> {
  const rows = yield sql`SELECT DISTINCT delivery.run_id, run.subject_id FROM delivery
    JOIN run ON run.id = delivery.run_id
    WHERE delivery.announces = 1 AND run.finished_at IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM unclosed_run WHERE unclosed_run.run_id = delivery.run_id)
    LIMIT ${limit}`
  // By subject, so that two of us cannot wait for each other.
  const subjectOf = (row: Row): string => row['subject_id'] as string
  for (const row of rows.toSorted((a, b) => (subjectOf(a) < subjectOf(b) ? -1 : 1))) {
    const { run, subject } = yield* lockRun(context, row['run_id'] as string)
    if (isActive(run)) continue
    const causeId = yield* lastEndOf(run.id)
    yield* announceState(context, [{ run, repositoryId: subject.scope, began: false, causeId }])
    yield* storeUnclosed([{ runId: run.id, closedTo: '' }])
  }
  return rows.length
}
