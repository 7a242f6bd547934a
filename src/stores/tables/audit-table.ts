/** Table `audit`: append-only. The id of a claim's or lease's row is the run's fence. */
import type { AuditDraft, AuditRow, AuditType } from '../../domain/audit.ts'
import type { Row, Sql, Verb } from '../sql.ts'
import { inPieces, sql, tuples } from '../sql.ts'

/** Answers the new ids in the order of the drafts. */
export function* insertAudits(drafts: readonly AuditDraft[], now: number): Verb<number[]> {
  const rows = drafts.map((draft) => [
    now,
    draft.type,
    draft.actor,
    draft.runId,
    JSON.stringify(draft.data),
  ])
  const ids: number[] = []
  for (const piece of inPieces(rows)) {
    const inserted = yield sql`INSERT INTO audit (at, type, actor, run_id, data)
      VALUES ${tuples(piece)} RETURNING id`
    ids.push(...inserted.map((row) => Number(row['id'])))
  }
  // Ids are given in the order of the VALUES; RETURNING does not promise to keep that order.
  return ids.toSorted((a, b) => a - b)
}

function decode(row: Row): AuditRow {
  return {
    id: Number(row['id']),
    at: Number(row['at']),
    type: row['type'] as AuditType,
    actor: row['actor'] as string,
    runId: row['run_id'] as string | null,
    data: JSON.parse(row['data'] as string) as Record<string, unknown>,
  }
}

export function* selectAudits(where: Sql, limit: number): Verb<AuditRow[]> {
  const rows = yield sql`SELECT id, at, type, actor, run_id, data FROM audit
    WHERE ${where} ORDER BY id DESC LIMIT ${limit}`
  return rows.map(decode)
}
