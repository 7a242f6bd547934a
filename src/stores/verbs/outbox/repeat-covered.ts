/**
 * After an announcement was sent that can be covered, or will never be: is the result covered that
 * its commit shows? Asked in the very transaction that learns of it, so that no crash can lose the
 * question; and by one at a time in a repository, or two that learn of theirs at once would neither
 * see the other's.
 */
import type { ChannelDeclaration, Content } from '../../../domain/outbox/channel-declaration.ts'
import { coveredBy, coveringNames, mayCover, shownOf } from '../../../domain/outbox/covered.ts'
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
export function* repeatCovered(
  context: VerbContext,
  before: Delivery,
  after: Delivery,
  causeId: number | null,
): Verb<void> {
  const channel = context.channels.of(after.channel)
  if (!mayCover(channel, before, after)) return
  yield* repeatCoveredAt(context, placeOf(channel, after), causeId)
}

/**
 * Runs have ended of which nothing was ever sent: it covers nothing, but while they were at work,
 * what another's has covered was left to them. Of these deliveries only those are meant.
 */
export function* repeatUnannounced(
  context: VerbContext,
  deliveries: readonly Delivery[],
): Verb<void> {
  const places = deliveries.filter(isUnsaid).flatMap((delivery) => {
    const channel = context.channels.of(delivery.channel)
    const { causeId } = delivery
    return channel.covering === undefined ? [] : [{ ...placeOf(channel, delivery), causeId }]
  })
  // In one order, so that two of us cannot wait for each other.
  for (const place of places.toSorted(byRepository)) {
    const { repositoryId, sha, checkName, causeId } = place
    if (repositoryId === null || sha === null || checkName === null) continue
    const runs = yield* selectWithCheckAt(repositoryId, sha, checkName)
    if (runs.length > 1) yield* repeatCoveredAt(context, place, causeId)
  }
}

const byRepository = (a: CoveredPlace, b: CoveredPlace): number =>
  (a.repositoryId ?? '') < (b.repositoryId ?? '') ? -1 : 1

export interface CoveredPlace {
  readonly repositoryId: string | null
  readonly sha: string | null
  /** Under which the runs' results show there. */
  readonly checkName: string | null
}

function placeOf({ covering }: ChannelDeclaration, delivery: Delivery): CoveredPlace {
  const { repositoryId, sha, content } = delivery
  return { repositoryId, sha, checkName: covering?.nameOf(JSON.parse(content) as Content) ?? null }
}

/** `causeId`: the audit row of what may have covered it. */
export function* repeatCoveredAt(
  context: VerbContext,
  place: CoveredPlace,
  causeId: number | null,
): Verb<void> {
  for (const channel of context.channels.all) {
    if (channel.covering !== undefined) yield* repeatOn(context, channel, place, causeId)
  }
}

function* repeatOn(
  context: VerbContext,
  channel: ChannelDeclaration,
  { repositoryId, sha, checkName }: CoveredPlace,
  causeId: number | null,
): Verb<void> {
  const { covering } = channel
  if (covering === undefined || repositoryId === null || sha === null || checkName === null) return
  yield* holdRepository(repositoryId)
  const runs = yield* selectWithCheckAt(repositoryId, sha, checkName)
  const shown = shownOf(runs)
  if (shown === null) return
  const known = yield* announcementsOf(
    channel,
    runs.map(({ id }) => id),
  )
  const coveredById = coveredBy(covering, shown, known)
  if (coveredById === null) return
  const wanted = {
    ...({
      kind: 'state',
      final: true,
      announces: false,
      claim: 'take',
      closesOnly: false,
    } as const),
    ...covering.repeat(shown, coveredById, context.now()),
    channel,
    name: covering.repeatName,
  }
  // It was given up, or an operator skipped it.
  if ((yield* deliveriesAt([wanted.target])).size > 0) return
  const markerKey = markerKeyOf(wanted.markerText)
  const output = { wanted, run: shown, repositoryId, markerKey, causeId }
  const made = revise(null, output, () => context.newId('del'), context.now(), context.publishing)
  if (made !== null) yield* storeDeliveries(context, [made.delivery])
}

export function* announcementsOf(
  channel: ChannelDeclaration,
  runIds: readonly string[],
): Verb<Delivery[]> {
  return yield* selectDeliveries(
    sql`run_id IN (${join(padded(runIds))}) AND name IN (${join(coveringNames(channel))})`,
  )
}
