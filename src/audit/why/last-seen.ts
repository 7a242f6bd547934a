/**
 * What GitHub shows of a delivery that was sent, by the last thing known of it: that it was sent is
 * old news once it was read again.
 */
import type { AuditRow, AuditType } from '../../domain/audit.ts'
import type { Delivery } from '../../domain/outbox/delivery.ts'

/** `other`: it was changed or removed there. `unknown`: it could not be read again. */
export type LastSeen = 'shown' | 'other' | 'unknown'

const sightings = new Set<AuditType>([
  'delivery.sent',
  'delivery.confirmed',
  'operator.delivery_confirmed',
  'delivery.settled',
])

/** The rows are oldest first. Where the audit is gone, it was sent. */
export function lastSeen({ id }: Pick<Delivery, 'id'>, rows: readonly AuditRow[]): LastSeen {
  const last = rows.findLast(({ deliveryId, type }) => deliveryId === id && sightings.has(type))
  return last === undefined ? 'shown' : seenIn(last)
}

export function seenIn({ type, data: { shows } }: AuditRow): LastSeen {
  if (type !== 'delivery.settled') return 'shown'
  if (shows === null) return 'unknown'
  return shows === false ? 'other' : 'shown'
}

/** Behind its name; nothing more is done about either. */
export const seenWords: Readonly<Record<Exclude<LastSeen, 'shown'>, string>> = {
  other:
    'was sent, but GitHub does not show it like that: when it was read again it had been changed ' +
    'or removed, and it is left like that',
  unknown:
    'was sent, but it could not be read again in time: whether GitHub still shows it is not known',
}
