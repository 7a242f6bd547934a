/** A flow event as the wire shows it. */
import type { AuditRow } from '../domain/audit.ts'
import { timeView } from './run-view.ts'

export function auditView(row: AuditRow) {
  return {
    id: row.id,
    order: row.order,
    cause_id: row.causeId,
    at: timeView(row.at),
    type: row.type,
    actor: row.actor,
    run_id: row.runId,
    task_id: null,
    delivery_id: row.deliveryId ?? null,
    data: { ...row.data },
  }
}
