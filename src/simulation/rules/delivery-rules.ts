/** Rules 2 and 12 for deliveries: an audit row says what closed each, and no late outcome did. */
import type { AuditFact, Facts } from '../facts.ts'
import type { Findings } from '../findings.ts'

const closingTypes: Readonly<Record<string, readonly string[]>> = {
  SENT: [
    'delivery.sent',
    'delivery.confirmed',
    'delivery.coalesced',
    'run.anchor.adopted',
    'operator.delivery_confirmed',
  ],
  FAILED: ['delivery.failed'],
  SKIPPED: ['delivery.skipped', 'operator.delivery_skipped'],
}

export function checkDeliveries(facts: Facts, findings: Findings): void {
  /** Audit rows by delivery id. */
  const rows = new Map<string, AuditFact[]>()
  for (const row of facts.audit) {
    if (row.delivery_id === null) continue
    rows.set(row.delivery_id, [...(rows.get(row.delivery_id) ?? []), row])
  }
  for (const { id, status } of facts.deliveries) {
    const types = closingTypes[status]
    if (types === undefined) continue
    const isRecorded = (rows.get(id) ?? []).some(({ type }) => types.includes(type))
    findings.check('12', isRecorded, () => `${id} is ${status}, and no audit row says so`)
  }
  for (const { id, outcome, late, action, delivery_id: deliveryId } of facts.attempts) {
    if (outcome !== 'sent' || late === 1 || action === 'remove') continue
    const isRecorded = (rows.get(deliveryId) ?? []).some(({ type, data }) => {
      return type === 'delivery.sent' && data['attempt_id'] === id
    })
    findings.check('12', isRecorded, () => `attempt ${id} was sent, and no audit row says so`)
  }
  for (const [id, ofDelivery] of rows) checkLate(id, ofDelivery, findings)
}

/** Once an attempt is in doubt, only a look may decide it; its late outcome must change nothing. */
function checkLate(id: string, rows: readonly AuditFact[], findings: Findings): void {
  const inDoubt = new Set<unknown>()
  for (const { type, data } of rows) {
    const attempt = data['attempt_id']
    if (type === 'delivery.in_doubt') inDoubt.add(attempt)
    if (type !== 'delivery.sent') continue
    findings.check('2', !inDoubt.has(attempt), () => {
      return `the late outcome of attempt ${String(attempt)} changed ${id}`
    })
  }
}
