/** Table `audit`: append-only. The id of a claim's or lease's row is the run's fence. */
import type { AuditDraft, AuditRow, AuditType } from '../../domain/audit.ts'
import type { ClaimReason } from '../../domain/claim.ts'
import type { Row, Sql, Verb } from '../sql.ts'
import { inPieces, sql, tuples } from '../sql.ts'

/** Answers the new ids in the order of the drafts. */
export function* insertAudits(drafts: readonly AuditDraft[], now: number): Verb<number[]> {
  const rows = drafts.map((draft) => [
    now,
    draft.type,
    draft.actor,
    draft.runId,
    draft.inboxId ?? null,
    draft.deliveryId ?? null,
    draft.refused ?? null,
    JSON.stringify(draft.data),
  ])
  const ids: number[] = []
  for (const piece of inPieces(rows)) {
    const inserted = yield sql`INSERT INTO audit
      (at, type, actor, run_id, inbox_id, delivery_id, refused, data) VALUES ${tuples(piece)}
      RETURNING id`
    ids.push(...inserted.map((row) => Number(row['id'])))
  }
  // Ids are given in the order of the VALUES; RETURNING does not promise to keep that order.
  return ids.toSorted((a, b) => a - b)
}

/** Why the claim was granted whose row this is. */
export function* claimReasonAt(id: number): Verb<ClaimReason | null> {
  const [row] = yield sql`SELECT data FROM audit WHERE id = ${id}`
  if (row === undefined) return null
  const { reason } = JSON.parse(row['data'] as string) as { readonly reason?: ClaimReason }
  return reason ?? null
}

function decode(row: Row): AuditRow {
  return {
    id: Number(row['id']),
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
  const rows = yield sql`SELECT id, ${order} AS place, at, type, actor, run_id, inbox_id,
    delivery_id, data
    FROM audit WHERE ${rest}`
  return rows.map(decode)
}
