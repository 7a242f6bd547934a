/** Rule 2b: every write is sent before the lease of its attempt expires. */
import type { AttemptFact, DeliveryFact, Facts } from '../facts.ts'
import type { Findings } from '../findings.ts'
import type { World } from '../world.ts'
import { tracedRequests, type TracedRequest } from './traced-requests.ts'

/** The contract's value, repeated here so that a wrong constant in the product is noticed. */
const deliveryLeaseMs = 20_000

export function checkLeases(facts: Facts, world: World, findings: Findings): void {
  const attempts = new Map<string, AttemptFact[]>()
  for (const attempt of facts.attempts) {
    const { delivery_id: id } = attempt
    attempts.set(id, [...(attempts.get(id) ?? []), attempt])
  }
  for (const request of tracedRequests(world)) {
    const { received, sent } = request
    if (received.method === 'GET' || received.method === 'DELETE') continue
    // A restore lost its attempt, or the clock was set between the attempt and the request.
    if (world.isForgotten(sent.decidedAt) || clockChangedRecently(world, sent.decidedAt)) continue
    const sentAt = storeClockAt(world, sent.decidedAt)
    const text = JSON.stringify(received.body)
    // Two repositories may have equal keys: then one of them must have an attempt.
    const deliveries = facts.deliveries.filter((delivery) => isWriteOf(request, text, delivery))
    if (deliveries.length === 0) continue
    const candidates = deliveries.flatMap(({ id }) => attempts.get(id) ?? [])
    const hasLease = candidates.some(({ started_at: at }) => {
      return at <= sentAt && sentAt < at + deliveryLeaseMs
    })
    findings.check('2b', hasLease, () => {
      const { index, method, path } = received
      const what = `request ${index} (${method} ${path})`
      return `${what} was sent after the lease of ${deliveries[0]?.id} had expired`
    })
  }
}

function clockChangedRecently({ clockJumps }: World, trueMs: number): boolean {
  return clockJumps.some(({ at }) => at <= trueMs && at >= trueMs - deliveryLeaseMs)
}

/** The time of the store's clock at that true time. */
function storeClockAt({ clockJumps }: World, trueMs: number): number {
  return clockJumps.reduce((time, { at, ms }) => (at <= trueMs ? time + ms : time), trueMs)
}

function isWriteOf({ received }: TracedRequest, text: string, delivery: DeliveryFact): boolean {
  if (delivery.channel !== 'github-status') return text.includes(delivery.marker_key)
  const { context } = JSON.parse(delivery.content) as { readonly context: string }
  const given = received.body as { readonly context?: string } | null
  return received.path.endsWith(`/statuses/${delivery.sha}`) && given?.context === context
}
