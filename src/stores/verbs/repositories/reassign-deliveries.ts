/**
 * Reassigns the deliveries of a merged repository to the one that stays. If both have the same
 * target, the delivery of the newer claim stays. A comment that the other one made, or may have
 * made, is a copy and is removed. Two runs of one pair of commits keep one check run, and one
 * comment where each run has its own.
 */
import { statusTarget } from '../../../domain/outbox/announce.ts'
import type { Delivery } from '../../../domain/outbox/delivery.ts'
import { isNewer, isOpen } from '../../../domain/outbox/delivery.ts'
import { mergeDeliveries } from '../../../domain/outbox/merge.ts'
import type { Verb } from '../../sql.ts'
import { sql } from '../../sql.ts'
import { insertAudits } from '../../tables/audit-table.ts'
import { deliveriesAt, selectAttempts, selectDeliveries } from '../../tables/delivery-table.ts'
import type { VerbContext } from '../context.ts'
import { circumstancesOf } from '../context.ts'
import { storeDeliveries } from '../outbox/store-deliveries.ts'

/** `kept`: the new subject of each merged subject. */
export function* reassignDeliveries(
  context: VerbContext,
  fromId: string,
  intoId: string,
  kept: ReadonlyMap<string, string>,
): Verb<void> {
  const strays = yield* selectDeliveries(sql`repository_id = ${fromId} ORDER BY id`)
  const moved = strays.map((stray) => movedTo(stray, intoId, kept))
  const existing = yield* deliveriesAt([...new Set(moved.map(({ target }) => target))])
  for (const [i, stray] of moved.entries()) {
    const other = existing.get(stray.target)
    if (other === undefined || other.id === strays[i]?.id) yield* storeDeliveries(context, [stray])
    else if (isNewer(stray, other)) yield* merge(context, other, stray)
    else yield* merge(context, stray, other)
  }
}

/** `copies`: runs that another run of the same pair replaced. */
export function* mergeCopies(context: VerbContext, copies: readonly Copy[]): Verb<void> {
  for (const { copyId, winnerId } of copies) {
    const given = yield* selectDeliveries(sql`run_id = ${copyId} ORDER BY id`)
    const targetOf = ({ target }: Delivery): string => target.replace(copyId, winnerId)
    const existing = yield* deliveriesAt(given.map(targetOf))
    for (const copy of given) {
      const twin = existing.get(targetOf(copy))
      if (twin === undefined || twin.id === copy.id || !isOneWith(copy, twin)) continue
      yield* merge(context, copy, twin)
    }
  }
}

export interface Copy {
  readonly copyId: string
  readonly winnerId: string
}

/**
 * Outputs with their own texts stay apart, and a completed check run is not opened again. Of two
 * that are still to be made under one key, one is made. If one may already be there, its twin
 * searches for it: its own search would find the twin's.
 */
function isOneWith(copy: Delivery, twin: Delivery): boolean {
  const { channel, announces, providerId, attemptId, memo } = copy
  const mayBeThere = providerId !== null || attemptId !== null || memo.doubt !== undefined
  if (!mayBeThere) return copy.name === 'check' && isOpen(copy)
  if (channel === 'github-check' && providerId === null) return announces || copy.name === 'check'
  // A completed check run can only get another conclusion.
  const isOpenThere = memo.showsWork === true && attemptId === null && memo.doubt === undefined
  const goesOn = announces || (copy.name === 'check' && (isOpenThere || !twin.announces))
  if (channel === 'github-check') return goesOn && twin.providerId === null
  return copy.name === 'anchor'
}

function movedTo(
  stray: Delivery,
  repositoryId: string,
  kept: ReadonlyMap<string, string>,
): Delivery {
  const subjectId = kept.get(stray.subjectId) ?? stray.subjectId
  const moved = { ...stray, repositoryId, subjectId }
  if (stray.target === `anchor subject ${stray.subjectId}`) {
    return { ...moved, target: `anchor subject ${subjectId}` }
  }
  const [what, , ...rest] = stray.target.split(' ')
  if (what === 'status') {
    const [sha = '', ...context] = rest
    return { ...moved, target: statusTarget(repositoryId, sha, context.join(' ')) }
  }
  const namesPlace = what === 'label' || what === 'refusal'
  return namesPlace ? { ...moved, target: [what, repositoryId, ...rest].join(' ') } : moved
}

/** `newer` stays, whichever of them has the target now. */
function* merge(context: VerbContext, older: Delivery, newer: Delivery): Verb<void> {
  const [underWay] =
    older.attemptId === null ? [] : yield* selectAttempts(sql`id = ${older.attemptId}`)
  const around = circumstancesOf(context)
  const { winner, loser } = mergeDeliveries(newer, older, underWay ?? null, around)
  // The loser gives up the target before the winner takes it.
  yield* storeDeliveries(context, [loser])
  yield* storeDeliveries(context, [winner])
  const { id, runId } = loser
  const data = { reason: 'target_taken', why: 'two names turned out to be one repository' }
  yield* insertAudits(
    [{ type: 'delivery.skipped', actor: 'system', runId, deliveryId: id, data }],
    around.now,
  )
}
