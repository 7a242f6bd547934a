/** What the world itself kept from being shown, target by target. */
import type { DeliveryFact, Facts } from '../facts.ts'
import type { World } from '../world.ts'
import { githubIdOf } from './places.ts'

const refusals = new Set(['forbidden', 'not_found', 'gone', 'not_installed'])
const closings = new Set(['delivery.sent', 'delivery.confirmed', 'delivery.coalesced'])

/**
 * GitHub refused it there for a while, an operator said to leave it, or the clock was set ahead
 * while its commit could not be seen; nothing else excuses.
 */
export function isExcused(delivery: DeliveryFact, facts: Facts, world: World): boolean {
  return (
    isRefused(delivery, facts, world) || isLeft(delivery, facts, world) || isHidden(delivery, world)
  )
}

/** By a clock that was set ahead, it was long since the push. */
function isHidden({ status, reason, sha }: DeliveryFact, world: World): boolean {
  if (status !== 'FAILED' || reason !== 'invalid' || sha === null) return false
  const until = world.excuses.hiddenUntil(sha)
  return until !== null && world.clockJumps.some(({ at, ms }) => ms > 0 && at < until)
}

function isRefused(delivery: DeliveryFact, facts: Facts, { excuses }: World): boolean {
  const { status, reason, thread, repository_id: repositoryId, purged } = delivery
  if (status !== 'FAILED' || !refusals.has(reason ?? '')) return false
  const id = githubIdOf(repositoryId, facts)
  return id !== null && excuses.isRefused(id, thread, purged)
}

/** The operator's word counts for as long as nothing newer was shown since. */
function isLeft({ id, status }: DeliveryFact, { audit }: Facts, { excuses }: World): boolean {
  if (!excuses.isLeft(id)) return false
  if (status === 'SKIPPED') return true
  const last = audit.findLast(({ delivery_id: of, type }) => {
    return of === id && (closings.has(type) || type === 'operator.delivery_confirmed')
  })
  return last?.type === 'operator.delivery_confirmed'
}
