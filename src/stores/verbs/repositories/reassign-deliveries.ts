/**
 * Reassigns the deliveries of a merged repository to the one that stays. If both have the same
 * target, the delivery of the newer claim stays. A comment that the other one made, or may have
 * made, is a copy and is removed. Two runs of one pair of commits keep one check run, and one
 * comment where each run has its own.
 */
import { isAnnouncement } from '../../../domain/outbox/announce.ts'
import type { ChannelDeclaration } from '../../../domain/outbox/channel-declaration.ts'
import type { Delivery } from '../../../domain/outbox/delivery.ts'
import { isNewer, isOpen } from '../../../domain/outbox/delivery.ts'
import { mergeDeliveries } from '../../../domain/outbox/merge.ts'
import type { Verb } from '../../sql.ts'
import { sql } from '../../sql.ts'
import { insertAudit } from '../../tables/audit-table.ts'
import { deliveriesAt, selectAttempts, selectDeliveries } from '../../tables/delivery-table.ts'
import type { VerbContext } from '../context.ts'
import { circumstancesOf } from '../context.ts'
import { storeDeliveries } from '../outbox/store-deliveries.ts'

export interface Merge {
  readonly fromId: string
  readonly intoId: string
  /** By the id of a stray subject: the subject that has its runs now. */
  readonly keptIds: ReadonlyMap<string, string>
  /** The audit row of the merge. */
  readonly mergedId: number
}

export function* reassignDeliveries(context: VerbContext, merge: Merge): Verb<void> {
  const { fromId, intoId, keptIds, mergedId } = merge
  const strays = yield* selectDeliveries(sql`repository_id = ${fromId} ORDER BY id`)
  const moved = strays.map((stray) => reassigned(stray, intoId, keptIds))
  const existing = yield* deliveriesAt([...new Set(moved.map(({ target }) => target))])
  for (const [i, stray] of moved.entries()) {
    const other = existing.get(stray.target)
    if (other === undefined || other.id === strays[i]?.id) yield* storeDeliveries(context, [stray])
    else if (isNewer(stray, other)) yield* mergePair(context, other, stray, mergedId)
    else yield* mergePair(context, stray, other, mergedId)
  }
}

/** `copies`: runs that another run of the same pair replaces. */
export function* mergeCopies(
  context: VerbContext,
  copies: readonly Copy[],
  mergedId: number,
): Verb<void> {
  for (const { copyId, winnerId } of copies) {
    const given = yield* selectDeliveries(sql`run_id = ${copyId} ORDER BY id`)
    const targetOf = ({ target }: Delivery): string => target.replace(copyId, winnerId)
    const existing = yield* deliveriesAt(given.map(targetOf))
    for (const copy of given) {
      const twin = existing.get(targetOf(copy))
      if (twin === undefined || twin.id === copy.id) continue
      if (!mustMerge(context.channels.of(copy.channel), copy, twin)) continue
      yield* mergePair(context, copy, twin, mergedId)
    }
  }
}

export interface Copy {
  readonly copyId: string
  readonly winnerId: string
}

/**
 * Whether two deliveries become one. Outputs with their own texts stay separate, and a completed
 * check run is not opened again. If two with the same key are still to be created, one is created.
 * If the copy may already be there, its twin searches for it: the copy's own search would find the
 * twin's output.
 */
function mustMerge(channel: ChannelDeclaration, copy: Delivery, twin: Delivery): boolean {
  const { announces, providerId, attemptId, protocol } = copy
  const hasRounds = channel.repeatWhenHidden !== undefined
  const isOfRun = hasRounds && isAnnouncement(channel, copy)
  const mayBeThere = providerId !== null || attemptId !== null || protocol.doubt !== undefined
  if (!mayBeThere) return isOfRun && isOpen(copy)
  if (hasRounds && providerId === null) return announces || isOfRun
  // A completed check run can only get another conclusion.
  const isOpenThere =
    protocol.showsWork === true && attemptId === null && protocol.doubt === undefined
  const goesOn = announces || (isOfRun && (isOpenThere || !twin.announces))
  if (hasRounds) return goesOn && twin.providerId === null
  return copy.name === 'anchor'
}

function reassigned(
  stray: Delivery,
  repositoryId: string,
  kept: ReadonlyMap<string, string>,
): Delivery {
  const subjectId = kept.get(stray.subjectId ?? '') ?? stray.subjectId
  return {
    ...stray,
    repositoryId,
    subjectId,
    target: reassignedTarget(stray, repositoryId, subjectId),
  }
}

/**
 * The second word of a target is its place: the repository's id, or `subject` with the subject's
 * id.
 */
function reassignedTarget(
  { target, repositoryId: from, subjectId: of }: Delivery,
  repositoryId: string,
  subjectId: string | null,
): string {
  if (of !== null && target === `anchor subject ${of}`) return `anchor subject ${subjectId ?? of}`
  const [what, place, ...rest] = target.split(' ')
  return place === from ? [what, repositoryId, ...rest].join(' ') : target
}

/** `newer` is kept, whichever of them has the target now. */
function* mergePair(
  context: VerbContext,
  older: Delivery,
  newer: Delivery,
  mergedId: number,
): Verb<void> {
  const [openAttempt] =
    older.attemptId === null ? [] : yield* selectAttempts(sql`id = ${older.attemptId}`)
  const around = circumstancesOf(context, newer)
  const { winner, loser } = mergeDeliveries(newer, older, openAttempt ?? null, around)
  // The loser gives up the target before the winner takes it.
  yield* storeDeliveries(context, [loser])
  yield* storeDeliveries(context, [winner])
  const { id, runId } = loser
  const data = { reason: 'target_taken', why: 'two names turned out to be one repository' }
  yield* insertAudit(
    { type: 'delivery.skipped', actor: 'system', runId, deliveryId: id, data },
    mergedId,
    around.now,
  )
}
