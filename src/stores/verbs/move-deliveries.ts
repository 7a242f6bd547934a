/**
 * Two rows turned out to be one repository: what was published for either is published for the one
 * that stays. Where both have the same target, the newer claim's stands; a comment that the other
 * one made is a copy, and copies are removed.
 */
import { statusTarget } from '../../domain/outbox/announce.ts'
import type { Delivery } from '../../domain/outbox/delivery.ts'
import { isNewer } from '../../domain/outbox/delivery.ts'
import { close, free, withDue } from '../../domain/outbox/follow-up.ts'
import type { Verb } from '../sql.ts'
import { sql } from '../sql.ts'
import { insertAudits } from '../tables/audit-table.ts'
import { deliveriesAt, selectDeliveries, writeDeliveries } from '../tables/delivery-table.ts'
import type { VerbContext } from './context.ts'

/** `kept`: which subject a moved one's runs belong to now. */
export function* moveDeliveries(
  context: VerbContext,
  fromId: string,
  intoId: string,
  kept: ReadonlyMap<string, string>,
): Verb<void> {
  const strays = yield* selectDeliveries(sql`repository_id = ${fromId} ORDER BY id`)
  const moved = strays.map((stray) => movedTo(stray, intoId, kept))
  const standing = yield* deliveriesAt([...new Set(moved.map(({ target }) => target))])
  for (const [i, stray] of moved.entries()) {
    const other = standing.get(stray.target)
    if (other === undefined || other.id === strays[i]?.id) yield* writeDeliveries([stray])
    else yield* putTogether(context, stray, other)
  }
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
  return what === 'label' ? { ...moved, target: ['label', repositoryId, ...rest].join(' ') } : moved
}

function* putTogether(context: VerbContext, stray: Delivery, standing: Delivery): Verb<void> {
  const now = context.now()
  const [winner, loser] = isNewer(stray, standing) ? [stray, standing] : [standing, stray]
  const target = winner.target
  const why = 'two names turned out to be one repository'
  const closed = close(free(loser), 'SKIPPED', 'target_taken', now)
  // It gives up the target before the other takes it.
  yield* writeDeliveries([
    { ...closed, announces: false, memo: {}, dueAt: null, target: `${target} (copy ${loser.id})` },
  ])
  yield* writeDeliveries([withDue({ ...winner, ...copyOf(winner, loser, now) }, now)])
  const data = { reason: 'target_taken', why }
  const { id, runId } = loser
  yield* insertAudits(
    [{ type: 'delivery.skipped', actor: 'system', runId, deliveryId: id, data }],
    now,
  )
}

/** Rule 6: of two comments the lower id stays, and is brought up to date before the other goes. */
function copyOf(winner: Delivery, loser: Delivery, now: number): Partial<Delivery> {
  if (winner.channel !== 'github-comment' || loser.providerId === null) return {}
  const ids = [winner.providerId, loser.providerId].filter((id) => id !== null)
  const [lower = loser.providerId, ...surplus] = ids.toSorted((a, b) => Number(a) - Number(b))
  const memo = surplus.length === 0 ? winner.memo : { ...winner.memo, surplus }
  const kept = { providerId: lower, sentHash: null, memo }
  if (lower === winner.providerId || winner.status !== 'SENT') return kept
  return { ...kept, status: 'PENDING', wait: 'due', closedAt: null, priority: 0, dueAt: now }
}
