/**
 * Rules 8 and 8b, checked on the requests that GitHub received: after an unanswered create, a node
 * looks before it creates again, and no status is published twice.
 */
import type { SimulatedStatus } from '../../simulator/index.ts'
import type { DeliveryFact, Facts } from '../facts.ts'
import type { Findings } from '../findings.ts'
import type { World } from '../world.ts'
import { githubIdOf, repoOf, targetOf } from './places.ts'
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

export function checkLooks(facts: Facts, world: World, findings: Findings): void {
  const decided = statusesClosedByOperator(facts, world)
  const creates = new Map<string, LastCreate>()
  for (const request of tracedRequests(world)) {
    const { received } = request
    const place = listOf(received, world)
    if (place === null) continue
    if (received.method === 'GET') {
      // A look without an answer shows nothing.
      if (isUnanswered(request) || isRefused(request)) continue
      for (const key of creates.keys()) if (key.startsWith(`${place} `)) creates.delete(key)
      continue
    }
    const key = `${place} ${contentKeyOf(received)}`
    const previous = decided.has(key) ? undefined : creates.get(key)
    findings.check('8', previous === undefined || previous.wasAnswered, () => {
      const { index, method, path } = received
      const what = `request ${index} (${method} ${path}) repeats request ${previous?.index}`
      return `${what}, which was not answered, without a look`
    })
    if (isRefused(request)) continue
    creates.set(key, { index: received.index, wasAnswered: !isUnanswered(request) })
  }
}

/**
 * An operator has decided about what was not answered, so nobody has to look. By the keys of
 * `checkLooks`.
 */
function statusesClosedByOperator(facts: Facts, world: World): ReadonlySet<string> {
  const closed = facts.deliveries.filter(({ id, channel }) => {
    return channel === 'github-status' && world.excuses.wasClosedByOperator(id)
  })
  return new Set(
    closed.map(({ repository_id: id, sha, content }) => {
      const { context } = JSON.parse(content) as { readonly context: string }
      return `${githubIdOf(id, facts)} ${sha} statuses ${context}`
    }),
  )
}

function isRefused({ received }: TracedRequest): boolean {
  return received.status !== null && received.status >= 300 && received.status < 500
}

/** A slow body counts too, because it may have come too late. */
const isDoubtful = (request: TracedRequest): boolean =>
  isUnanswered(request) || request.received.fault === 'slow-body'

/** Two equal statuses in a row are a duplicate, unless an answer was missing. */
export function checkRepeatedStatuses(facts: Facts, world: World, findings: Findings): void {
  const doubtful = new Set<string>()
  for (const received of world.github.requests) {
    const sent = world.sent.get(received.headers['x-request-id'] ?? '')
    if (sent !== undefined && !isDoubtful({ received, sent })) continue
    doubtful.add(`${received.path.split('/').at(-1)} ${contentKeyOf(received)}`)
  }
  // If a node crashed after it stored the attempt, nobody knows whether it sent the request. An
  // attempt of a row that lost its target in a merge is never ended.
  const inDoubt = new Set(
    facts.attempts
      .filter(({ outcome, late }) => outcome === null || outcome === 'in_doubt' || late === 1)
      .map((attempt) => attempt.delivery_id),
  )
  // By target, because the attempt may belong to a row that lost its target in a merge.
  const targets = new Set(facts.deliveries.filter(({ id }) => inDoubt.has(id)).map(targetOf))
  // An operator closed it, so the store does not know what GitHub shows.
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
    const statuses = world.github.statuses(
      repoOf(delivery, facts, world),
      delivery.sha ?? '',
      context,
    )
    statuses.forEach((status, index) => {
      const before = statuses[index - 1]
      const isSame = before?.state === status.state && before.description === status.description
      if (isSame && isRepeatAfterRestore(delivery, before, status, world)) return
      if (isSame && isHiddenByLag(before, status, requests, world)) return
      if (forgotten.has(`${targetOf(delivery)} ${before?.id}`)) return
      findings.check('8b', !isSame, () => {
        return `status ${context} of ${delivery.sha} was set to ${status.state} twice: ${status.id}`
      })
    })
  }
}

/** The status may have changed since the copy was made, so it is correct to set it again. */
function isRepeatAfterRestore(
  { id }: DeliveryFact,
  before: SimulatedStatus,
  after: SimulatedStatus,
  { forgotten }: World,
): boolean {
  if (forgotten?.restoredDeliveryIds.has(id) !== true) return false
  return before.createdAt <= forgotten.until && after.createdAt > forgotten.until
}

/** The look before the second status got a lagging list without the first. */
function isHiddenByLag(
  before: SimulatedStatus,
  after: SimulatedStatus,
  requests: readonly TracedRequest[],
  world: World,
): boolean {
  const secondAt = requests.findIndex(({ received }) => received.index === after.request)
  const firstAt = requests.findIndex(({ received }) => received.index === before.request)
  const second = requests[secondAt]
  if (second === undefined) return false
  const place = listOf(second.received, world)
  const look = requests
    .slice(firstAt + 1, secondAt)
    .findLast((one) => one.received.method === 'GET' && listOf(one.received, world) === place)
  return look?.received.fault === 'list-lag'
}

/** After a purge, the next run with this target cannot know the last status there. */
function lastStatusesOfPurged({ deliveries }: Facts): ReadonlySet<string> {
  return new Set(
    deliveries.flatMap(({ purged, provider_id: id, target }) =>
      purged ? [`${target} ${id}`] : [],
    ),
  )
}
