/** An audit row: append-only, written in the same transaction as the change that it reports. */

export const auditTypes = [
  'webhook.received',
  'webhook.duplicate',
  'webhook.ignored',
  'webhook.processed',
  'webhook.failed',
  'webhook.postponed',
  'webhook.caught_up',
  'run.claimed',
  'run.claim_skipped',
  'run.reclaimed',
  'run.leased',
  'run.released',
  'run.dequeued',
  'run.heartbeat_lost',
  'run.lease_revoked',
  'run.head_verified',
  'run.head_unverified',
  'run.superseded',
  'run.succeeded',
  'run.failed',
  'run.cancelled',
  'run.skipped',
  'run.purged',
  'run.agent.status_reported',
  'run.service_message.updated',
  'run.anchor.created',
  'run.anchor.adopted',
  'run.anchor.lost',
  'run.anchor.recreated',
  'run.anchor.deduplicated',
  'run.anchor.taken_over',
  'delivery.sent',
  'delivery.retry_scheduled',
  'delivery.in_doubt',
  'delivery.confirmed',
  'delivery.settled',
  'delivery.deduplicated',
  'delivery.failed',
  'delivery.skipped',
  'delivery.coalesced',
  'delivery.target_taken',
  'budget.blocked',
  'repository.identified',
  'repository.renamed',
  'repository.merged',
  'operator.rerun_requested',
  'operator.cancel_requested',
  'operator.replay_requested',
  'operator.delivery_retried',
  'operator.identity_unblocked',
  'operator.delivery_skipped',
  'operator.delivery_confirmed',
  'operator.token_created',
  'operator.token_deleted',
  'operator.keys_rotated',
  'operator.keys_exported',
  'operator.keys_imported',
  'access.refused',
] as const
export type AuditType = (typeof auditTypes)[number]

/** What was wrong: a bearer token, or the signature of a webhook. */
export type RefusedCredential = 'token' | 'signature'

export interface AuditDraft {
  readonly type: AuditType
  readonly actor: string
  readonly runId: string | null
  /** Of what happened to a webhook. */
  readonly inboxId?: string | null
  /** Of what happened to a delivery. */
  readonly deliveryId?: string | null
  /** Of what was refused: what was wrong. */
  readonly refused?: RefusedCredential
  readonly data: Readonly<Record<string, unknown>>
}

export interface AuditRow extends AuditDraft {
  readonly id: number
  /**
   * Its place in the order of commits. Unlike the id, it is above every row that was read before.
   */
  readonly order: number
  readonly at: number
}
