/**
 * Which types of audit rows may cause which, written down independently of the code that writes
 * them, and a check of every row against it: its cause exists, has a smaller id, and has a type
 * that can lead to the row. `nothing`: a person, a program or the passing of time was the cause.
 */
import { expect } from 'vitest'
import type { AuditRow, AuditType } from '../../../src/domain/audit.ts'
import type { Store } from '../../../src/store.ts'

type Cause = AuditType | 'nothing'

const arrivals = [
  'webhook.received',
  'webhook.caught_up',
  'webhook.ignored',
  'operator.replay_requested',
] as const
const claims = ['run.claimed', 'run.reclaimed', 'run.claim_skipped', 'run.skipped'] as const
/** Rows whose ids are fences. */
const holds = [
  ...claims,
  ...(['run.leased', 'run.released', 'run.heartbeat_lost'] as const),
  ...(['step.held', 'step.late'] as const),
  ...(['operator.step_confirmed', 'operator.step_repeated', 'operator.step_failed'] as const),
] as const
const ends = ['run.succeeded', 'run.failed', 'run.cancelled', 'run.skipped'] as const
/** Rows that create a version of a delivery, or reopen it. */
const versions: readonly Cause[] = [
  ...holds,
  ...ends,
  ...arrivals,
  'run.superseded',
  'run.dequeued',
  'run.agent.status_reported',
  'repository.merged',
  'operator.delivery_retried',
  'operator.delivery_skipped',
  'operator.delivery_confirmed',
  'store.restored',
]
/** Rows of one transaction about one delivery: the first causes the others. */
const ofOneDelivery: readonly Cause[] = [
  'run.anchor.created',
  'run.anchor.adopted',
  'run.anchor.recreated',
  'run.anchor.lost',
  'run.anchor.deduplicated',
  'run.service_message.updated',
  'delivery.sent',
  'delivery.confirmed',
  'delivery.coalesced',
  'delivery.settled',
  'delivery.deduplicated',
  'delivery.failed',
  'budget.blocked',
]
const ofDelivery = [...versions, ...ofOneDelivery]
const nothing: readonly Cause[] = ['nothing']

export const causesOf: Readonly<Record<AuditType, readonly Cause[]>> = {
  'webhook.received': nothing,
  'webhook.caught_up': nothing,
  'webhook.duplicate': arrivals,
  // At its arrival, or when it was decided.
  'webhook.ignored': ['nothing', ...arrivals],
  'webhook.processed': arrivals,
  'webhook.failed': arrivals,
  'webhook.postponed': arrivals,
  'run.claimed': ['nothing', ...arrivals, ...holds, ...ends],
  'run.claim_skipped': ['nothing', ...arrivals, ...holds, 'repository.merged'],
  'run.reclaimed': [...arrivals, ...holds],
  'run.leased': [...holds, 'run.dequeued'],
  'run.released': holds,
  'run.command_ended': [...holds, ...ends],
  'run.dequeued': [...ends, 'repository.merged'],
  'run.heartbeat_lost': [...holds, 'repository.merged'],
  'run.lease_revoked': ['operator.token_deleted'],
  'run.head_verified': holds,
  'run.head_unverified': holds,
  'run.superseded': [...claims, 'repository.merged'],
  'run.succeeded': holds,
  'run.failed': holds,
  'run.cancelled': ['nothing', ...arrivals],
  // By its holder, by a rule, by the claim table, or because a comment may be too old.
  'run.skipped': ['nothing', ...arrivals, ...holds],
  'run.purged': nothing,
  'run.agent.status_reported': ['nothing', ...holds],
  'step.in_doubt': holds,
  'step.taken_over': ['step.in_doubt'],
  'step.confirmed': ['step.in_doubt'],
  'step.held': ['step.in_doubt'],
  'step.late': holds,
  'step.not_asked_for': holds,
  'run.github_token_issued': holds,
  'run.service_message.updated': ofDelivery,
  'run.anchor.created': ofDelivery,
  'run.anchor.adopted': ofDelivery,
  'run.anchor.lost': ofDelivery,
  'run.anchor.recreated': ofDelivery,
  'run.anchor.deduplicated': ofDelivery,
  'run.anchor.taken_over': ofDelivery,
  'delivery.sent': ofDelivery,
  'delivery.retry_scheduled': ofDelivery,
  'delivery.in_doubt': ofDelivery,
  'delivery.confirmed': ofDelivery,
  'delivery.settled': ofDelivery,
  'delivery.deduplicated': ofDelivery,
  'delivery.failed': ofDelivery,
  'delivery.skipped': ofDelivery,
  'delivery.coalesced': ofDelivery,
  'delivery.target_taken': ofDelivery,
  'budget.blocked': ['nothing', ...ofDelivery],
  'repository.identified': nothing,
  'repository.renamed': nothing,
  'repository.merged': ['nothing', 'repository.renamed'],
  'operator.rerun_requested': ['nothing', ...arrivals, 'repository.merged'],
  'operator.cancel_requested': nothing,
  'operator.replay_requested': nothing,
  'operator.delivery_retried': nothing,
  'operator.delivery_skipped': nothing,
  'operator.delivery_confirmed': nothing,
  'operator.step_confirmed': holds,
  'operator.step_repeated': holds,
  'operator.step_failed': holds,
  'operator.identity_unblocked': nothing,
  'operator.token_created': nothing,
  'operator.token_deleted': nothing,
  'operator.keys_rotated': nothing,
  'operator.keys_exported': nothing,
  'operator.keys_imported': nothing,
  'access.refused': nothing,
  'store.restored': nothing,
  'store.moved': nothing,
}

/** All rows of the store, oldest first, each with a cause that fits. */
export async function rowsWithCauses(store: Store): Promise<readonly AuditRow[]> {
  const rows: AuditRow[] = []
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<Store['audit']['list']>> = await store.audit.list(
      {},
      { limit: 1000, cursor },
    )
    rows.push(...page.items)
    cursor = page.nextCursor
  } while (cursor !== null)
  rows.sort((a, b) => a.id - b.id)
  const byId = new Map(rows.map((row) => [row.id, row]))
  for (const row of rows) checkCause(row, byId)
  return rows
}

export function checkCause(row: AuditRow, byId: ReadonlyMap<number, AuditRow>): void {
  const { id, type, causeId, runId } = row
  const cause = causeId === null ? null : byId.get(causeId)
  const about = `what led to ${type} (${id}) of ${runId ?? 'no run'}: ${causeId}`
  expect(cause, about).not.toBeUndefined()
  expect(causesOf[type], about).toContain(cause?.type ?? 'nothing')
  if (causeId !== null) expect(causeId, about).toBeLessThan(id)
}
