/** Rules 2 and 12 for deliveries: what closed one is told, and never by a late outcome. */
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
  const rows = new Map<string, AuditFact[]>()
  for (const row of facts.audit) {
    if (row.delivery_id === null) continue
    rows.set(row.delivery_id, [...(rows.get(row.delivery_id) ?? []), row])
  }
  for (const { id, status } of facts.deliveries) {
    const told = rows.get(id) ?? []
    const tells = closingTypes[status]
    if (tells === undefined) continue
    const isTold = told.some(({ type }) => tells.includes(type))
    findings.check('12', isTold, () => `${id} is ${status}, and no audit row says so`)
  }
  for (const { id, outcome, late, action, delivery_id: of } of facts.attempts) {
    if (outcome !== 'sent' || late === 1 || action === 'remove') continue
    const isTold = (rows.get(of) ?? []).some(({ type, data }) => {
      return type === 'delivery.sent' && data['attempt_id'] === id
    })
    findings.check('12', isTold, () => `attempt ${id} was sent, and no audit row says so`)
  }
  for (const [id, told] of rows) checkLate(id, told, findings)
}

/** Once an attempt is given up as in doubt, only a look says what became of it. */
function checkLate(id: string, rows: readonly AuditFact[], findings: Findings): void {
  const doubted = new Set<unknown>()
  for (const { type, data } of rows) {
    const attempt = data['attempt_id']
    if (type === 'delivery.in_doubt') doubted.add(attempt)
    if (type !== 'delivery.sent') continue
    findings.check('2', !doubted.has(attempt), () => {
      return `the late outcome of attempt ${String(attempt)} changed ${id}`
    })
  }
}
