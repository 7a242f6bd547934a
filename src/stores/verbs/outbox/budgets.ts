/**
 * Blocks of identities. An identity is blocked when GitHub sets a limit or refuses us. An operator
 * can lift a block. `holdfast budgets` shows them.
 */
import { block, refuse, unblock, type Budget } from '../../../domain/outbox/budget.ts'
import type { Delivery } from '../../../domain/outbox/delivery.ts'
import { NotFoundError } from '../../../errors.ts'
import type { Asker } from '../../../store/outbox-store.ts'
import type { Verb } from '../../sql.ts'
import { sql } from '../../sql.ts'
import { insertAudit } from '../../tables/audit-table.ts'
import { isKnownIdentity, lockBudget, writeBudget } from '../../tables/budget-table.ts'
import type { VerbContext } from '../context.ts'

/** `met`: the delivery whose request met the limit. Returns the id of the audit row. */
export function* blockIdentity(
  context: VerbContext,
  identity: string,
  until: number,
  reason: string,
  actor: Asker,
  met: Pick<Delivery, 'id' | 'runId' | 'causeId'> | null = null,
): Verb<number> {
  const budget = yield* lockBudget(identity, context.now())
  const now = context.now()
  yield* writeBudget(block(budget, until, reason, now))
  const data = { identity, until: new Date(until).toISOString(), reason }
  const about = { runId: met?.runId ?? null, deliveryId: met?.id ?? null }
  const audit = { type: 'budget.blocked', actor, ...about, data } as const
  return yield* insertAudit(audit, met?.causeId ?? null, now)
}

/** Returns until when the identity is blocked. */
export function* refuseIdentity(
  context: VerbContext,
  identity: string,
  reason: string,
): Verb<number> {
  const before = yield* lockBudget(identity, context.now())
  const now = context.now()
  const budget = refuse(before, reason, now)
  const until = budget.blockedUntil ?? now
  if (budget === before) return until
  yield* writeBudget(budget)
  const data = { identity, until: new Date(until).toISOString(), reason }
  const audit = { type: 'budget.blocked', actor: 'publisher', runId: null, data } as const
  yield* insertAudit(audit, null, now)
  return until
}

/** Its deliveries are tried now. GitHub may block the identity again at once. */
export function* unblockIdentity(
  context: VerbContext,
  identity: string,
  actor: string,
): Verb<Budget> {
  if (!(yield* isKnownIdentity(identity))) {
    throw new NotFoundError('identity_not_found', `there is no identity ${identity}`, {
      hint: 'List them: holdfast budgets',
    })
  }
  const before = yield* lockBudget(identity, context.now())
  const now = context.now()
  const budget = unblock(before, now)
  yield* writeBudget(budget)
  // The identity of a delivery is found out when it is tried. Those of other identities wait again.
  yield sql`UPDATE delivery SET due_at = ${now}, rev = rev + 1
    WHERE status = 'PENDING' AND wait IN ('budget', 'in_doubt') AND due_at > ${now}
      AND queue IS NULL AND (leased_until IS NULL OR leased_until <= ${now})`
  const until = before.blockedUntil
  const data = {
    identity,
    was_blocked_until: until === null ? null : new Date(until).toISOString(),
    reason: before.blockedReason,
  }
  const audit = { type: 'operator.identity_unblocked', actor, runId: null, data } as const
  yield* insertAudit(audit, null, now)
  return budget
}
