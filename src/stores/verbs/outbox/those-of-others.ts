/**
 * Two runs of one pair of commits that were claimed under two names have the same keys for their
 * check runs and for what they publish themselves. What is known to be another delivery's is not
 * this one's, whatever its key says.
 */
import type { ChannelDeclaration } from '../../../domain/outbox/channel-declaration.ts'
import type { Delivery } from '../../../domain/outbox/delivery.ts'
import { givenUpTarget } from '../../../domain/outbox/merge.ts'
import type { Finding } from '../../../domain/outbox/outcome.ts'
import type { Verb } from '../../sql.ts'
import { join, padded, sql } from '../../sql.ts'
import { selectDeliveries } from '../../tables/delivery-table.ts'

export function* withoutThoseOfOthers(
  delivery: Delivery,
  channel: ChannelDeclaration,
  finding: Finding,
): Verb<Finding> {
  if (delivery.subjectId === null || !isKnownByKey(delivery, channel) || !('found' in finding))
    return finding
  const ids = finding.found.map(({ providerId }) => providerId)
  const unknown = ids.filter((providerId) => providerId !== delivery.providerId)
  if (unknown.length === 0) return finding
  const known = yield* selectDeliveries(sql`subject_id = ${delivery.subjectId}
    AND provider_id IN (${join(padded(unknown))}) AND channel = ${delivery.channel} ORDER BY id`)
  // One that gave up its place has left what it made to whoever has that.
  const others = known.filter((one) => one.id !== delivery.id && givenUpTarget(one) === null)
  const taken = new Set(others.map(({ providerId }) => providerId))
  return {
    ...finding,
    found: finding.found.filter(({ providerId }) => !taken.has(providerId)),
  }
}

/** Others are known by their place, and there is one anchor of each. */
function isKnownByKey({ name }: Delivery, { replacedBy }: ChannelDeclaration): boolean {
  return replacedBy === 'edit' && name !== 'anchor'
}
