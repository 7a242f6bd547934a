/** Decides whether a delivery that GitHub does not show, or that FAILED, is excused. */
import type { DeliveryFact, Facts } from '../facts.ts'
import type { World } from '../world.ts'
import { githubIdOf } from './places.ts'

const refusalReasons = new Set(['forbidden', 'not_found', 'gone', 'not_installed'])
const closingTypes = new Set([
  'delivery.sent',
  'delivery.confirmed',
  'delivery.coalesced',
  'delivery.skipped',
])

/**
 * Only four things excuse it: GitHub refused writes there for a while, an operator closed it, the
 * clock was set forward while its commit was not visible, or its name led to another repository.
 */
export function isExcused(delivery: DeliveryFact, facts: Facts, world: World): boolean {
  return (
    isRefused(delivery, facts, world) ||
    isClosedByOperator(delivery, facts, world) ||
    wasCommitHidden(delivery, world) ||
    isForWrongRepository(delivery, facts, world)
  )
}

/**
 * The caller knew only a name, and another repository had that name by the time Holdfast asked
 * GitHub. That repository has no such pull request.
 */
export function isForWrongRepository(delivery: DeliveryFact, facts: Facts, world: World): boolean {
  const { status, reason, run_id: runId, repository_id: repositoryId } = delivery
  if (status !== 'FAILED' || reason !== 'not_found') return false
  const claimedId = world.excuses.claimedRepository(runId)
  const foundId = githubIdOf(repositoryId, facts)
  if (claimedId === null || foundId === null || claimedId === foundId) return false
  const pulls = world.pulls.filter(({ repo }) => repo.id === foundId)
  return !pulls.some(({ number }) => number === delivery.thread)
}

/** The clock was set forward, so the push seemed too old for a commit to be still invisible. */
function wasCommitHidden({ status, reason, sha }: DeliveryFact, world: World): boolean {
  if (status !== 'FAILED' || reason !== 'invalid' || sha === null) return false
  const until = world.excuses.commitVisibleAt(sha)
  return until !== null && world.clockJumps.some(({ at, ms }) => ms > 0 && at < until)
}

/** A locked thread refuses new comments and reviews; existing comments can be edited. */
function isRefused(delivery: DeliveryFact, facts: Facts, { excuses }: World): boolean {
  const {
    status,
    reason,
    thread,
    repository_id: ourRepositoryId,
    purged: includeRetired,
    channel,
  } = delivery
  if (status !== 'FAILED' || !refusalReasons.has(reason ?? '')) return false
  const repositoryId = githubIdOf(ourRepositoryId, facts)
  if (repositoryId === null) return false
  const isOfThread = channel === 'github-comment' || channel === 'github-review'
  const threads = isOfThread && reason === 'forbidden' ? [null, thread] : [null]
  return excuses.failedByRefusal({ deliveryId: delivery.id, repositoryId, threads, includeRetired })
}

/** An operator's decision counts until something newer closes the delivery. */
function isClosedByOperator(
  { id, status }: DeliveryFact,
  { audit }: Facts,
  { excuses }: World,
): boolean {
  if (!excuses.wasClosedByOperator(id)) return false
  const operatorType =
    status === 'SKIPPED' ? 'operator.delivery_skipped' : 'operator.delivery_confirmed'
  const last = audit.findLast(({ delivery_id: deliveryId, type }) => {
    return deliveryId === id && (closingTypes.has(type) || type === operatorType)
  })
  return last?.type === operatorType
}
