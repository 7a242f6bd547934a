/** What the world itself kept from being shown, target by target. */
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
 * GitHub refused it there for a while, an operator said to leave it, the clock was set ahead while
 * its commit could not be seen, or a name led elsewhere; nothing else excuses.
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
 * Claimed by a name alone, which was another repository's before anybody had asked whose it is: and
 * there is no such pull request there.
 */
export function isForWrongRepository(delivery: DeliveryFact, facts: Facts, world: World): boolean {
  const { status, reason, run_id: runId, repository_id: of } = delivery
  if (status !== 'FAILED' || reason !== 'not_found') return false
  const meant = world.excuses.claimedRepository(runId)
  const found = githubIdOf(of, facts)
  if (meant === null || found === null || meant === found) return false
  const pulls = world.pulls.filter(({ repo }) => repo.id === found)
  return !pulls.some(({ number }) => number === delivery.thread)
}

/** By a clock that was set ahead, it was long since the push. */
function wasCommitHidden({ status, reason, sha }: DeliveryFact, world: World): boolean {
  if (status !== 'FAILED' || reason !== 'invalid' || sha === null) return false
  const until = world.excuses.commitVisibleAt(sha)
  return until !== null && world.clockJumps.some(({ at, ms }) => ms > 0 && at < until)
}

/** A locked thread takes no new comment and no review; what is there can be edited. */
function isRefused(delivery: DeliveryFact, facts: Facts, { excuses }: World): boolean {
  const { status, reason, thread, repository_id: of, purged: includeRetired, channel } = delivery
  if (status !== 'FAILED' || !refusalReasons.has(reason ?? '')) return false
  const repositoryId = githubIdOf(of, facts)
  if (repositoryId === null) return false
  const isOfThread = channel === 'github-comment' || channel === 'github-review'
  const threads = isOfThread && reason === 'forbidden' ? [null, thread] : [null]
  return excuses.failedByRefusal({ deliveryId: delivery.id, repositoryId, threads, includeRetired })
}

/** The operator's word counts for as long as nothing newer was shown since. */
function isClosedByOperator(
  { id, status }: DeliveryFact,
  { audit }: Facts,
  { excuses }: World,
): boolean {
  if (!excuses.wasClosedByOperator(id)) return false
  const word = status === 'SKIPPED' ? 'operator.delivery_skipped' : 'operator.delivery_confirmed'
  const last = audit.findLast(({ delivery_id: of, type }) => {
    return of === id && (closingTypes.has(type) || type === word)
  })
  return last?.type === word
}
