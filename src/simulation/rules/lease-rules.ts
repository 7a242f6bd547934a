/** Rule 2b: every write leaves while the lease under which its attempt was stored still lasts. */
import type { AttemptFact, DeliveryFact, Facts } from '../facts.ts'
import type { Findings } from '../findings.ts'
import type { World } from '../world.ts'
import { tracedRequests, type TracedRequest } from './traced-requests.ts'

/** The contract's, written down once more. */
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
    // Its attempt is forgotten, or its time is by a clock that was set meanwhile.
    if (world.isForgotten(sent.decidedAt) || clockChangedRecently(world, sent.decidedAt)) continue
    const sentAt = storeClockAt(world, sent.decidedAt)
    const text = JSON.stringify(received.body)
    // Two repositories may have equal keys: one of them has to have an attempt then.
    const deliveries = facts.deliveries.filter((one) => isWriteOf(request, text, one))
    if (deliveries.length === 0) continue
    const candidates = deliveries.flatMap(({ id }) => attempts.get(id) ?? [])
    const isHeld = candidates.some(({ started_at: at }) => {
      return at <= sentAt && sentAt < at + deliveryLeaseMs
    })
    findings.check('2b', isHeld, () => {
      const { index, method, path } = received
      const what = `request ${index} (${method} ${path})`
      return `${what} left after the lease of ${deliveries[0]?.id} was over`
    })
  }
}

function clockChangedRecently({ clockJumps }: World, trueMs: number): boolean {
  return clockJumps.some(({ at }) => at <= trueMs && at >= trueMs - deliveryLeaseMs)
}

/** What the store's clock said at that true time. */
function storeClockAt({ clockJumps }: World, trueMs: number): number {
  return clockJumps.reduce((said, { at, ms }) => (at <= trueMs ? said + ms : said), trueMs)
}

function isWriteOf({ received }: TracedRequest, text: string, delivery: DeliveryFact): boolean {
  if (delivery.channel !== 'github-status') return text.includes(delivery.marker_key)
  const { context } = JSON.parse(delivery.content) as { readonly context: string }
  const given = received.body as { readonly context?: string } | null
  return received.path.endsWith(`/statuses/${delivery.sha}`) && given?.context === context
}
