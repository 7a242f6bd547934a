/**
 * Repeats a run's result when another run's announcement hides it (domain/outbox/hidden-result).
 *
 * What must hold: this is checked in the transaction that learns of the new announcement, so no
 * crash can lose the check. Only one transaction per repository checks at a time. Otherwise two of
 * them could each miss the other's announcement.
 */
import type { ChannelDeclaration, Content } from '../../../domain/outbox/channel-declaration.ts'
import { hiddenBy, resultNames, mayHide, shownRun } from '../../../domain/outbox/hidden-result.ts'
import type { Delivery } from '../../../domain/outbox/delivery.ts'
import { wasNeverShown } from '../../../domain/outbox/restored.ts'
import { revise } from '../../../domain/outbox/revise.ts'
import { markerKeyOf } from '../../../marker-keys.ts'
import type { Verb } from '../../sql.ts'
import { join, padded, sql } from '../../sql.ts'
import { deliveriesAt, selectDeliveries } from '../../tables/delivery-table.ts'
import { holdRepository } from '../../tables/repository-table.ts'
import { selectWithCheckAt } from '../../tables/run-table.ts'
import type { VerbContext } from '../context.ts'
import { storeDeliveries } from './store-deliveries.ts'

/** `after` must be stored already, so that another check at the same time finds it. */
export function* repeatHidden(
  context: VerbContext,
  before: Delivery,
  after: Delivery,
  causeId: number | null,
): Verb<void> {
  const channel = context.channels.of(after.channel)
  if (!mayHide(channel, before, after)) return
  yield* repeatHiddenAt(context, placeOf(channel, after), causeId)
}

/**
 * For runs that ended before anything of them was sent; other deliveries are ignored. Such a run
 * hides nothing. But while it was active, a hidden result was not repeated, because the run would
 * show its own result later.
 */
export function* repeatAfterUnannounced(
  context: VerbContext,
  deliveries: readonly Delivery[],
): Verb<void> {
  const places = deliveries.filter(wasNeverShown).flatMap((delivery) => {
    const channel = context.channels.of(delivery.channel)
    const { causeId } = delivery
    return channel.repeatWhenHidden === undefined
      ? []
      : [{ ...placeOf(channel, delivery), causeId }]
  })
  // Always in the same order, so that two transactions cannot wait for each other.
  for (const place of places.toSorted(byRepository)) {
    const { repositoryId, sha, checkName, causeId } = place
    if (repositoryId === null || sha === null || checkName === null) continue
    const runs = yield* selectWithCheckAt(repositoryId, sha, checkName)
    if (runs.length > 1) yield* repeatHiddenAt(context, place, causeId)
  }
}

const byRepository = (a: CheckPlace, b: CheckPlace): number =>
  (a.repositoryId ?? '') < (b.repositoryId ?? '') ? -1 : 1

export interface CheckPlace {
  readonly repositoryId: string | null
  readonly sha: string | null
  /** The name of the check run that shows the result. */
  readonly checkName: string | null
}

function placeOf({ repeatWhenHidden }: ChannelDeclaration, delivery: Delivery): CheckPlace {
  const { repositoryId, sha, content } = delivery
  return {
    repositoryId,
    sha,
    checkName: repeatWhenHidden?.nameOf(JSON.parse(content) as Content) ?? null,
  }
}

/** `causeId`: the audit row of what may hide the result. */
export function* repeatHiddenAt(
  context: VerbContext,
  place: CheckPlace,
  causeId: number | null,
): Verb<void> {
  for (const channel of context.channels.all) {
    if (channel.repeatWhenHidden !== undefined) yield* repeatOn(context, channel, place, causeId)
  }
}

function* repeatOn(
  context: VerbContext,
  channel: ChannelDeclaration,
  { repositoryId, sha, checkName }: CheckPlace,
  causeId: number | null,
): Verb<void> {
  const { repeatWhenHidden } = channel
  if (repeatWhenHidden === undefined || repositoryId === null || sha === null || checkName === null)
    return
  yield* holdRepository(repositoryId)
  const runs = yield* selectWithCheckAt(repositoryId, sha, checkName)
  const shown = shownRun(runs)
  if (shown === null) return
  const announcements = yield* announcementsOf(
    channel,
    runs.map(({ id }) => id),
  )
  const hiddenById = hiddenBy(repeatWhenHidden, shown, announcements)
  if (hiddenById === null) return
  const wanted = {
    ...({
      kind: 'state',
      final: true,
      announces: false,
      claim: 'take',
      closesOnly: false,
    } as const),
    ...repeatWhenHidden.repeat(shown, hiddenById, context.now()),
    channel,
    name: repeatWhenHidden.repeatName,
  }
  // It was repeated before: then it failed, or an operator skipped it.
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
    sql`run_id IN (${join(padded(runIds))}) AND name IN (${join(resultNames(channel))})`,
  )
}
