/**
 * Rules 8 and 8b, by what arrived at GitHub: a create nobody answered is looked for before the next
 * one, and no status is said twice.
 */
import type { SimulatedStatus } from '../../simulator/index.ts'
import type { DeliveryFact, Facts } from '../facts.ts'
import type { Findings } from '../findings.ts'
import type { World } from '../world.ts'
import { repoOf, targetOf } from './places.ts'
import {
  isUnanswered,
  contentKeyOf,
  listOf,
  tracedRequests,
  type TracedRequest,
} from './traced-requests.ts'

interface LastCreate {
  readonly index: number
  readonly wasAnswered: boolean
}

export function checkLooks(world: World, findings: Findings): void {
  const creates = new Map<string, LastCreate>()
  for (const one of tracedRequests(world)) {
    const { received } = one
    const place = listOf(received, world)
    if (place === null) continue
    if (received.method === 'GET') {
      // One without an answer has shown nobody anything.
      if (isUnanswered(one) || isRefused(one)) continue
      for (const key of creates.keys()) if (key.startsWith(`${place} `)) creates.delete(key)
      continue
    }
    const key = `${place} ${contentKeyOf(received)}`
    const before = creates.get(key)
    findings.check('8', before === undefined || before.wasAnswered, () => {
      const { index, method, path } = received
      const what = `request ${index} (${method} ${path}) repeats ${before?.index}`
      return `${what}, which nobody answered, without a look`
    })
    if (isRefused(one)) continue
    creates.set(key, { index: received.index, wasAnswered: !isUnanswered(one) })
  }
}

function isRefused({ received }: TracedRequest): boolean {
  return received.status !== null && received.status >= 300 && received.status < 500
}

/** The body may have come too late, too. */
const isDoubtful = (one: TracedRequest): boolean =>
  isUnanswered(one) || one.received.fault === 'slow-body'

/** Two equal statuses in a row are one too many, unless an answer was missing. */
export function checkRepeatedStatuses(facts: Facts, world: World, findings: Findings): void {
  const doubtful = new Set<string>()
  for (const received of world.github.requests) {
    const sent = world.sent.get(received.headers['x-request-id'] ?? '')
    if (sent !== undefined && !isDoubtful({ received, sent })) continue
    doubtful.add(`${received.path.split('/').at(-1)} ${contentKeyOf(received)}`)
  }
  // A node that died after it had noted the attempt may have sent nothing: nobody can know. An
  // attempt of a row that gave up its target in a merge is never ended.
  const inDoubt = new Set(
    facts.attempts
      .filter(({ outcome, late }) => outcome === null || outcome === 'in_doubt' || late === 1)
      .map((attempt) => attempt.delivery_id),
  )
  // The same target: one that gave it up in a merge of two rows may have been under way.
  const targets = new Set(facts.deliveries.filter(({ id }) => inDoubt.has(id)).map(targetOf))
  // An operator said that something else stands there.
  const closedByOperator = new Set(
    facts.deliveries.filter(({ id }) => world.excuses.wasClosedByOperator(id)).map(targetOf),
  )
  const forgotten = lastStatusesOfPurged(facts)
  const requests = tracedRequests(world)
  for (const delivery of facts.deliveries) {
    if (delivery.channel !== 'github-status' || targets.has(targetOf(delivery))) continue
    if (closedByOperator.has(targetOf(delivery))) continue
    const { context } = JSON.parse(delivery.content) as { context: string }
    if (doubtful.has(`${delivery.sha} ${context}`)) continue
    const all = world.github.statuses(repoOf(delivery, facts, world), delivery.sha ?? '', context)
    all.forEach((status, at) => {
      const before = all[at - 1]
      const isSame = before?.state === status.state && before.description === status.description
      if (isSame && isRepeatAfterRestore(delivery, before, status, world)) return
      if (isSame && isHiddenByLag(before, status, requests, world)) return
      if (forgotten.has(`${targetOf(delivery)} ${before?.id}`)) return
      findings.check('8b', !isSame, () => {
        return `${status.state} is said twice as ${context} of ${delivery.sha}: ${status.id}`
      })
    })
  }
}

/** Said before the restore, it may have changed since: what the copy knows of is no proof. */
function isRepeatAfterRestore(
  { id }: DeliveryFact,
  before: SimulatedStatus,
  after: SimulatedStatus,
  { forgotten }: World,
): boolean {
  if (forgotten?.restoredDeliveryIds.has(id) !== true) return false
  return before.createdAt <= forgotten.until && after.createdAt > forgotten.until
}

/** The look before the second was answered from a list that did not have the first yet. */
function isHiddenByLag(
  before: SimulatedStatus,
  after: SimulatedStatus,
  requests: readonly TracedRequest[],
  world: World,
): boolean {
  const at = requests.findIndex(({ received }) => received.index === after.request)
  const first = requests.findIndex(({ received }) => received.index === before.request)
  const second = requests[at]
  if (second === undefined) return false
  const place = listOf(second.received, world)
  const look = requests
    .slice(first + 1, at)
    .findLast((one) => one.received.method === 'GET' && listOf(one.received, world) === place)
  return look?.received.fault === 'list-lag'
}

/** Whoever has the target after a purge cannot know what was said there last. */
function lastStatusesOfPurged({ deliveries }: Facts): ReadonlySet<string> {
  return new Set(
    deliveries.flatMap(({ purged, provider_id: id, target }) =>
      purged ? [`${target} ${id}`] : [],
    ),
  )
}
