/** Table `audit`: append-only. The id of a claim's or lease's row is the run's fence. */
import type { AuditDraft, AuditRow, AuditType } from '../../domain/audit.ts'
import type { ClaimReason } from '../../domain/claim.ts'
import { LostRace } from '../driver.ts'
import type { Row, Sql, Verb } from '../sql.ts'
import { InsertRows, join, padded, raw, sql } from '../sql.ts'

/** The audit rows of one decision, in order. */
export interface Decision {
  readonly drafts: readonly AuditDraft[]
  /** The audit row that led to the decision; null if there is none. */
  readonly causeId: number | null
}

/**
 * The first row of a decision names its cause, and the others name the first row. Returns their
 * ids.
 */
export function* insertDecisions(decisions: readonly Decision[], now: number): Verb<number[][]> {
  const nonEmpty = decisions.filter(({ drafts }) => drafts.length > 0)
  const firsts = yield* insertRows(
    nonEmpty.flatMap(({ drafts, causeId }) =>
      drafts.slice(0, 1).map((draft) => ({ draft, causeId })),
    ),
    now,
  )
  const firstIds = new Map(nonEmpty.map((decision, i) => [decision, firsts[i] ?? 0]))
  const others = yield* insertRows(
    nonEmpty.flatMap((decision) => {
      const causeId = firstIds.get(decision) ?? null
      return decision.drafts.slice(1).map((draft) => ({ draft, causeId }))
    }),
    now,
  )
  let position = 0
  return decisions.map((decision) => {
    const first = firstIds.get(decision)
    if (first === undefined) return []
    return [first, ...others.slice(position, (position += decision.drafts.length - 1))]
  })
}

/** Returns the ids of the decision's rows. */
export function* insertDecision(
  drafts: readonly AuditDraft[],
  causeId: number | null,
  now: number,
): Verb<number[]> {
  const [ids] = yield* insertDecisions([{ drafts, causeId }], now)
  return ids ?? []
}

/** Inserts rows that have the same cause. Returns the new ids in the order of the drafts. */
export function* insertAudits(
  drafts: readonly AuditDraft[],
  causeId: number | null,
  now: number,
): Verb<number[]> {
  return yield* insertRows(
    drafts.map((draft) => ({ draft, causeId })),
    now,
  )
}

/** Inserts a decision that has only this row. */
export function* insertAudit(draft: AuditDraft, causeId: number | null, now: number): Verb<number> {
  const [id] = yield* insertAudits([draft], causeId, now)
  if (id === undefined) throw new LostRace('an audit row was not stored')
  return id
}

const columns = [
  ...['at', 'cause_id', 'type', 'actor', 'run_id'],
  ...['inbox_id', 'delivery_id', 'refused', 'data'],
]

interface RowToInsert {
  readonly draft: AuditDraft
  readonly causeId: number | null
}

function* insertRows(drafts: readonly RowToInsert[], now: number): Verb<number[]> {
  const rows = drafts.map(({ draft, causeId }) => [
    now,
    // No row has the id 0: it is the fence of a run that was never granted.
    causeId === 0 ? null : causeId,
    draft.type,
    draft.actor,
    draft.runId,
    draft.inboxId ?? null,
    draft.deliveryId ?? null,
    draft.refused ?? null,
    JSON.stringify(draft.data),
  ])
  if (rows.length === 0) return []
  const inserted = yield new InsertRows({ table: 'audit', columns }, rows, raw('RETURNING id'))
  // Ids are given in the order of the rows; RETURNING does not promise to keep that order.
  return inserted.map((row) => Number(row['id'])).toSorted((a, b) => a - b)
}

/** The reason in the audit row of a claim. */
export function* claimReasonAt(id: number): Verb<ClaimReason | null> {
  const [row] = yield sql`SELECT data FROM audit WHERE id = ${id}`
  if (row === undefined) return null
  const { reason } = JSON.parse(row['data'] as string) as { readonly reason?: ClaimReason }
  return reason ?? null
}

/** The audit rows that led to decisions about a webhook: its arrival and a later replay request. */
export interface WebhookCauses {
  readonly arrivedId: number
  /** The replay request if there is one, otherwise the arrival. */
  readonly newestId: number
}

/** By the id of the inbox entry; without those whose audit is past its retention. */
export function* webhookCauses(inboxIds: readonly string[]): Verb<Map<string, WebhookCauses>> {
  if (inboxIds.length === 0) return new Map()
  const rows = yield sql`SELECT inbox_id, min(id) AS arrived, max(id) AS newest FROM audit
    WHERE inbox_id IN (${join(padded(inboxIds))}) AND type IN ('webhook.received',
      'webhook.caught_up', 'webhook.ignored', 'operator.replay_requested') GROUP BY inbox_id`
  return new Map(
    rows.map((row) => {
      const causes = { arrivedId: Number(row['arrived']), newestId: Number(row['newest']) }
      return [row['inbox_id'] as string, causes]
    }),
  )
}

/** The audit row of a run's last end, for outputs that a later transaction closes. */
export function* lastEndOf(runId: string): Verb<number | null> {
  const [row] = yield sql`SELECT max(id) AS ended FROM audit WHERE run_id = ${runId}
    AND type IN ('run.succeeded', 'run.failed', 'run.cancelled', 'run.skipped', 'run.superseded')`
  return row?.['ended'] == null ? null : Number(row['ended'])
}

function decode(row: Row): AuditRow {
  return {
    id: Number(row['id']),
    causeId: row['cause_id'] === null ? null : Number(row['cause_id']),
    order: Number(row['place']),
    at: Number(row['at']),
    type: row['type'] as AuditType,
    actor: row['actor'] as string,
    runId: row['run_id'] as string | null,
    inboxId: row['inbox_id'] as string | null,
    deliveryId: row['delivery_id'] as string | null,
    data: JSON.parse(row['data'] as string) as Record<string, unknown>,
  }
}

/** `order` is the dialect's column of the order of commits; `rest` follows WHERE. */
export function* selectAudits(order: Sql, rest: Sql): Verb<AuditRow[]> {
  const rows = yield sql`SELECT id, cause_id, ${order} AS place, at, type, actor, run_id,
    inbox_id, delivery_id, data
    FROM audit WHERE ${rest}`
  return rows.map(decode)
}
