/**
 * Twin runs: two runs of the same pair of commits, claimed under two names before Holdfast knew
 * that both are one repository. The outputs of the first run stay, and a completed check run cannot
 * be opened again. So it is correct that the second run publishes its own outputs.
 */
import type { ReceivedRequest, SimulatedCheckRun } from '../../simulator/index.ts'
import type { DeliveryFact, Facts } from '../facts.ts'
import type { World } from '../world.ts'
import { repoOf } from './places.ts'
import type { TracedRequest } from './traced-requests.ts'

export function areByTwinRuns(
  first: TracedRequest,
  second: TracedRequest,
  facts: Facts,
  world: World,
): boolean {
  const older = deliveryMadeBy(first, facts, world)
  const newer = deliveryMadeBy(second, facts, world)
  if (older === undefined || newer === undefined || !areOfTwinRuns(older, newer, facts))
    return false
  const check = checksOf(older, facts, world).find(({ id }) => String(id) === older.provider_id)
  return older.channel === 'github-review' || completingRequest(check, second, world) !== undefined
}

/** The delivery whose output this request created. */
function deliveryMadeBy(
  { received: { index } }: TracedRequest,
  facts: Facts,
  world: World,
): DeliveryFact | undefined {
  return facts.deliveries.find((delivery) => {
    const { provider_id: providerId, thread, channel } = delivery
    const repo = repoOf(delivery, facts, world)
    const made =
      channel === 'github-review'
        ? world.github.reviews(repo, thread ?? 0).find(({ request }) => request === index)
        : checksOf(delivery, facts, world).find(({ requests }) => requests[0] === index)
    return made !== undefined && String(made.id) === providerId
  })
}

export function areOfTwinRuns(one: DeliveryFact, other: DeliveryFact, facts: Facts): boolean {
  return one.run_id !== other.run_id && arePairsEqual(one.run_id, other.run_id, facts)
}

/** True for two runs of the same commits, although one is the copy of a merged repository. */
export function arePairsEqual(one: string, other: string, { runs }: Facts): boolean {
  const [pair, same] = [one, other].map((runId) => {
    return runs.find(({ id }) => id === runId)?.pair.replace(/ \(copy \S+\)$/, '')
  })
  return pair !== undefined && pair === same
}

/** The first request that completed the check run, before the second one was created. */
export function completingRequest(
  check: SimulatedCheckRun | undefined,
  { received: { index: before } }: TracedRequest,
  { github }: World,
): ReceivedRequest | undefined {
  const earlier = (check?.requests ?? []).filter((index) => index !== null && index < before)
  return earlier
    .flatMap((index) => github.requests[index ?? 0] ?? [])
    .find(({ body }) => (body as { readonly status?: string } | null)?.status === 'completed')
}

function checksOf({ channel, sha, ...delivery }: DeliveryFact, facts: Facts, world: World) {
  if (channel !== 'github-check' || sha === null) return []
  return world.github.checkRuns(repoOf(delivery, facts, world), sha)
}
