/** Which of a delivery's rows the story tells, and which it tells only once. */
import type { AuditRow, AuditType } from '../../domain/audit.ts'
import type { Known } from './known.ts'
import { seenIn } from './last-seen.ts'

/** They say in their own words that the comment was sent. */
const anchorTypes = new Set<AuditType>([
  'run.anchor.created',
  'run.anchor.recreated',
  'run.service_message.updated',
])
/** For whoever asks about the delivery itself, unless GitHub does not show it as it should. */
const detailTypes = new Set<AuditType>(['delivery.coalesced', 'delivery.settled'])
/** What comes often, and says the same each time. */
const repeatedTypes = new Set<AuditType>([
  'run.service_message.updated',
  'delivery.sent',
  'delivery.retry_scheduled',
  'delivery.coalesced',
  'delivery.settled',
])

export function isToldElsewhere(row: AuditRow, { ofDelivery, rows }: Known): boolean {
  if (row.type !== 'delivery.sent') {
    return !ofDelivery && detailTypes.has(row.type) && seenIn(row) === 'shown'
  }
  return rows.some(
    ({ type, deliveryId, at }) =>
      anchorTypes.has(type) && deliveryId === row.deliveryId && at === row.at,
  )
}

/** Repeats of one delivery become one, wherever in the story; null where each is told. */
export function foldOfDelivery({ type, deliveryId }: AuditRow): string | null {
  return repeatedTypes.has(type) ? `${type} ${deliveryId ?? ''}` : null
}
