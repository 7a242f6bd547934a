/**
 * Rule 8b for reviews and check runs, which cannot be deleted. If the look before the second create
 * could find the first one, there must be no second. There are two known limits: the first one took
 * effect only after that look, or a lagging list did not show it.
 */
import type { DeliveryFact, Facts } from '../facts.ts'
import type { Findings } from '../findings.ts'
import type { World } from '../world.ts'
import { repoOf } from './places.ts'
import {
  isUnanswered,
  contentKeyOf,
  listOf,
  tracedRequests,
  type TracedRequest,
} from './traced-requests.ts'
import { completingRequest, areByTwinRuns } from './twin-runs.ts'

const channels = new Set(['github-review', 'github-check'])

export function checkDuplicates(facts: Facts, world: World, findings: Findings): void {
  const requests = tracedRequests(world)
  const deliveries = facts.deliveries.filter(({ channel }) => channels.has(channel))
  for (const delivery of deliveries) {
    const creates = requests.filter((request) => isCreateOf(request, delivery))
    creates.forEach((second, index) => {
      // A reused name may have led to another repository: only creates in one list count.
      const place = listOf(second.received, world)
      const first = creates
        .slice(0, index)
        .findLast(({ received }) => listOf(received, world) === place)
      if (first === undefined || areByTwinRuns(first, second, facts, world)) return
      if (completionIsForgotten(first, second, delivery, facts, world)) return
      const isAvoidable = couldFindFirst(first, second, requests, world)
      findings.check('8b', !isAvoidable, () => {
        const { id, channel } = delivery
        const pair = `requests ${first.received.index} and ${second.received.index}`
        return `${id} (${channel}) was created twice, by ${pair}`
      })
    })
  }
}

function isCreateOf({ received }: TracedRequest, { marker_key: key }: DeliveryFact): boolean {
  const { method, effect } = received
  return method === 'POST' && effect && contentKeyOf(received) === key
}

/**
 * A restore made the store forget that this check run is completed. A completed check run cannot
 * show work in progress, so it is correct that a run which works again creates another one.
 */
function completionIsForgotten(
  first: TracedRequest,
  second: TracedRequest,
  delivery: DeliveryFact,
  facts: Facts,
  world: World,
): boolean {
  const { channel, sha } = delivery
  if (channel !== 'github-check') return false
  const made = world.github
    .checkRuns(repoOf(delivery, facts, world), sha ?? '')
    .find(({ requests }) => requests[0] === first.received.index)
  const completion = completingRequest(made, second, world)
  const sent = world.sent.get(completion?.headers['x-request-id'] ?? '')
  return sent !== undefined && world.isForgotten(sent.decidedAt)
}

/** The sender of the second either never looked, or its last look could show the first. */
function couldFindFirst(
  first: TracedRequest,
  second: TracedRequest,
  requests: readonly TracedRequest[],
  world: World,
): boolean {
  const place = listOf(second.received, world)
  const looks = requests.filter(({ received, sent }) => {
    const isBetween =
      sent.decidedAt >= first.sent.decidedAt && sent.decidedAt <= second.sent.decidedAt
    return isBetween && received.method === 'GET' && listOf(received, world) === place
  })
  const last = looks.findLast((look) => !isUnanswered(look))
  if (last === undefined) return true
  const effectAt = first.received.doneAt ?? Infinity
  return last.received.fault !== 'list-lag' && effectAt <= last.received.at
}
