/**
 * After a check run was sent, or will never be: is the result covered that its commit shows? Asked
 * in the very transaction that learns of it, so that no crash can lose the question; and by one at
 * a time in a repository, or two that learn of theirs at once would neither see the other's.
 */
import {
  againDesire,
  checkNameOf,
  checkNames,
  coveredBy,
  mayCover,
  shownOf,
} from '../../../domain/outbox/check-again.ts'
import type { Delivery } from '../../../domain/outbox/delivery.ts'
import { isUnsaid } from '../../../domain/outbox/restored.ts'
import { revise } from '../../../domain/outbox/revise.ts'
import { markerKeyOf } from '../../../marker-keys.ts'
import type { Verb } from '../../sql.ts'
import { join, padded, sql } from '../../sql.ts'
import { deliveriesAt, selectDeliveries } from '../../tables/delivery-table.ts'
import { holdRepository } from '../../tables/repository-table.ts'
import { selectWithCheckAt } from '../../tables/run-table.ts'
import type { VerbContext } from '../context.ts'
import { storeDeliveries } from './store-deliveries.ts'

/** `after` must be stored: whoever asks at the same time must find it. */
export function* sayCheckAgain(
  context: VerbContext,
  before: Delivery,
  after: Delivery,
  causeId: number | null,
): Verb<void> {
  if (!mayCover(before, after)) return
  const { repositoryId, sha } = after
  const place = { repositoryId, sha, checkName: checkNameOf(after) }
  yield* sayCheckAgainAt(context, place, causeId)
}

/**
 * Runs have ended of which no check run was ever sent: it covers nothing, but while they were at
 * work, what another's has covered was left to them. Of these deliveries only those are meant.
 */
export function* sayCoveredChecks(
  context: VerbContext,
  deliveries: readonly Delivery[],
): Verb<void> {
  const unsaid = deliveries.filter((one) => one.channel === 'github-check' && isUnsaid(one))
  // In one order, so that two of us cannot wait for each other.
  for (const one of unsaid.toSorted((a, b) => (a.repositoryId < b.repositoryId ? -1 : 1))) {
    const { repositoryId, sha } = one
    const checkName = checkNameOf(one)
    const runs = sha === null ? [] : yield* selectWithCheckAt(repositoryId, sha, checkName)
    if (runs.length < 2) continue
    yield* sayCheckAgainAt(context, { repositoryId, sha, checkName }, one.causeId)
  }
}

export interface CheckPlace {
  readonly repositoryId: string
  readonly sha: string | null
  readonly checkName: string | null
}

/** `causeId`: the audit row of what may have covered it. */
export function* sayCheckAgainAt(
  context: VerbContext,
  place: CheckPlace,
  causeId: number | null,
): Verb<void> {
  const { repositoryId, sha, checkName } = place
  if (sha === null || checkName === null) return
  yield* holdRepository(repositoryId)
  const runs = yield* selectWithCheckAt(repositoryId, sha, checkName)
  const shown = shownOf(runs)
  if (shown === null) return
  const covering = coveredBy(shown, yield* checksOf(runs.map(({ id }) => id)))
  if (covering === null) return
  const desire = againDesire(shown, covering, context.now())
  // It was given up, or an operator skipped it.
  if ((yield* deliveriesAt([desire.target])).size > 0) return
  const markerKey = markerKeyOf(desire.markerText)
  const wish = { desire, run: shown, repositoryId, markerKey, causeId }
  const made = revise(null, wish, () => context.newId('del'), context.now(), context.publishing)
  if (made !== null) yield* storeDeliveries(context, [made.delivery])
}

export function* checksOf(runIds: readonly string[]): Verb<Delivery[]> {
  return yield* selectDeliveries(
    sql`run_id IN (${join(padded(runIds))}) AND name IN (${join(checkNames)})`,
  )
}
