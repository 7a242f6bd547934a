/** What operators do with deliveries, and the repair of ended runs that are still announced. */
import type { AuditDraft } from '../../../domain/audit.ts'
import type { Delivery } from '../../../domain/outbox/delivery.ts'
import { isLeased } from '../../../domain/outbox/delivery.ts'
import {
  confirmByOperator,
  skipByOperator,
  canBeChanged,
  retryByOperator,
} from '../../../domain/outbox/operator-actions.ts'
import { isActive } from '../../../domain/run.ts'
import { ConflictError, deliveryNotFound } from '../../../errors.ts'
import type { RetryFilter } from '../../../store/outbox-store.ts'
import type { Row, Sql, Verb } from '../../sql.ts'
import { join, sql } from '../../sql.ts'
import { insertAudit, insertAudits, lastEndOf } from '../../tables/audit-table.ts'
import { selectDeliveries, selectDelivery } from '../../tables/delivery-table.ts'
import { storeUnclosed } from '../../tables/unclosed-run-table.ts'
import { announceState } from './announce.ts'
import { repeatHidden } from './repeat-hidden.ts'
import type { VerbContext } from '../context.ts'
import { lockRun } from '../context.ts'
import { enterLine, storeDeliveries } from './store-deliveries.ts'

const bulkMax = 1000

export function* retryDelivery(context: VerbContext, id: string, actor: string): Verb<Delivery> {
  const delivery = yield* find(id)
  if (delivery.status === 'SENT') throw alreadySent(delivery, 'sent again')
  if (!canBeChanged(delivery)) throw targetTakenError(delivery)
  const again = yield* retried(context, delivery)
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
  const found = named.filter(canBeChanged)
  const now = context.now()
  const ids = yield* insertAudits(
    found.map((was) => auditOfAction({ type: 'operator.delivery_retried', actor, was, data: {} })),
    null,
    now,
  )
  for (const [i, delivery] of found.entries()) {
    const again = yield* retried(context, delivery)
    yield* storeDeliveries(context, [{ ...again, causeId: ids[i] ?? again.causeId }])
  }
  return found.length
}

/** A message goes to the end of its run's line, as when it was published. */
function* retried(context: VerbContext, delivery: Delivery): Verb<Delivery> {
  const now = context.now()
  const again = retryByOperator(delivery, now, context.publishing)
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
  if (!canBeChanged(delivery)) throw targetTakenError(delivery)
  return yield* storeOne(context, skipByOperator(delivery, reason, context.now()), {
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
  // If it were confirmed, it would be updated beside the delivery that has its target.
  if (!canBeChanged(delivery)) throw targetTakenError(delivery)
  const confirmed = yield* storeOne(
    context,
    confirmByOperator(delivery, providerId, context.now()),
    {
      type: 'operator.delivery_confirmed',
      actor,
      was: delivery,
      data: { provider_id: providerId },
    },
  )
  yield* repeatHidden(context, delivery, confirmed, confirmed.causeId)
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

function targetTakenError({ id }: Delivery): ConflictError {
  return new ConflictError('target_taken', `another delivery has taken the place of ${id}`, {
    hint: 'See the deliveries of its run: the one that is shown there now is kept up to date.',
  })
}

interface OperatorAction {
  readonly type: AuditDraft['type']
  readonly actor: string
  readonly was: Delivery
  readonly data: AuditDraft['data']
}

function* storeOne(
  context: VerbContext,
  delivery: Delivery,
  action: OperatorAction,
): Verb<Delivery> {
  const causeId = yield* insertAudit(auditOfAction(action), null, context.now())
  const [stored] = yield* storeDeliveries(context, [{ ...delivery, causeId }])
  return stored ?? delivery
}

function auditOfAction({ type, actor, was, data }: OperatorAction): AuditDraft {
  const before = { was: was.status, ...(was.wait !== null && { waited_for: was.wait }) }
  return { type, actor, runId: was.runId, deliveryId: was.id, data: { ...before, ...data } }
}

/**
 * Closes the announcements of ended runs that still show work in progress. No verb of this version
 * leaves one. An older version, or somebody who edits the database, may have. What such a run
 * published itself is noted in `unclosed_run`, and `closeRemaining` closes it in batches.
 * Deliveries of a channel that this process does not know are left out: they cannot be closed here,
 * and would come first in every pass.
 */
export function* closeForgotten(context: VerbContext, limit: number): Verb<number> {
  const rows = yield sql`SELECT DISTINCT delivery.run_id, run.subject_id FROM delivery
    JOIN run ON run.id = delivery.run_id
    WHERE delivery.announces = 1 AND run.finished_at IS NOT NULL
      AND delivery.channel IN (${join(context.channels.all.map(({ name }) => name))})
      AND NOT EXISTS (SELECT 1 FROM unclosed_run WHERE unclosed_run.run_id = delivery.run_id)
    LIMIT ${limit}`
  // Always in the order of subjects, so that two transactions cannot wait for each other.
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
