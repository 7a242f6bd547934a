/**
 * An audit row. Rows are only added, each in the same transaction as the change that it records.
 *
 * Every row names its cause. The rows of one decision name its first row, and that one names what
 * led to the decision:
 *
 *   deciding on a webhook               its arrival, or the operator's request for a replay
 *   lease, report, GitHub token, end,   the row whose id was the run's fence until then
 *     loss of a lease; doubt, decision
 *     and late result of a step
 *   a claim in place of a lost holder   that holder's row, if no webhook led to the claim
 *   an answer about the newest head     the decision that had to ask
 *   what happens to a delivery          the row that made its newest version or reopened it
 *   what a restore puts in doubt        the row of the restore
 *
 * Many decisions may share a transaction: a cause never crosses from one to another.
 */

/** The actor of `holdfast exec`, if it works directly on the store. */
export const execActor = 'exec'

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
  'run.command_ended',
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
  'step.in_doubt',
  'step.taken_over',
  'step.confirmed',
  'step.held',
  'step.late',
  'step.not_asked_for',
  'run.github_token_issued',
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
  'operator.step_confirmed',
  'operator.step_repeated',
  'operator.step_failed',
  'operator.token_created',
  'operator.token_deleted',
  'operator.keys_rotated',
  'operator.keys_exported',
  'operator.keys_imported',
  'access.refused',
  'store.restored',
  'store.moved',
] as const
export type AuditType = (typeof auditTypes)[number]

/** What was wrong: a bearer token, or the signature of a webhook. */
export type RefusedCredential = 'token' | 'signature'

export interface AuditDraft {
  readonly type: AuditType
  readonly actor: string
  readonly runId: string | null
  /** The webhook that it is about. */
  readonly inboxId?: string | null
  /** The delivery that it is about. */
  readonly deliveryId?: string | null
  /** For `access.refused`: what was wrong. */
  readonly refused?: RefusedCredential
  readonly data: Readonly<Record<string, unknown>>
}

export interface AuditRow extends AuditDraft {
  readonly id: number
  /**
   * The audit row that led to this one; always smaller. Null where a person, a program or the
   * passing of time did, and in rows of older versions. It may be past its retention and gone.
   */
  readonly causeId: number | null
  /**
   * Its place in the order of commits. Unlike the id, it is higher than every place that could be
   * read before.
   */
  readonly order: number
  readonly at: number
}
