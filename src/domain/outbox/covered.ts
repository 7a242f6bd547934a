/**
 * GitHub shows the newest check run of a name on a commit, and one that is completed cannot be
 * brought to the front again. Runs share a commit (two pull requests, or two bases of one), so the
 * newest may be of a run that the commit status does not show: one that ended without a result, or
 * one that came late; so may one of an earlier round. Then the run that the status shows says how
 * it ended once more, in a new one. A channel where that can happen declares `covering`.
 *
 * What must hold: it is made only after the one it has to cover is known to be there, and once for
 * each such, whoever dies in between: both its target and its key name that one by its id there.
 */
import type { Run } from '../run.ts'
import { isActive } from '../run.ts'
import { wasNeverTaken } from './announce.ts'
import type { ChannelDeclaration, Content, Covering } from './channel-declaration.ts'
import type { Delivery } from './delivery.ts'
import { isOpen } from './delivery.ts'
import { hasResult } from './said-there.ts'

/** The deliveries that say how a run came out. */
export function coveringNames({ announcement, covering }: ChannelDeclaration): readonly string[] {
  return [announcement?.name, covering?.repeatName].filter((name) => name !== undefined)
}

/** Whether one became known that may cover others: only then is there something to repeat. */
export function mayCover(channel: ChannelDeclaration, before: Delivery, after: Delivery): boolean {
  const { name, status, final, providerId } = after
  if (channel.covering === undefined || !coveringNames(channel).includes(name)) return false
  const isNew = before.status !== 'SENT' || before.providerId !== providerId
  return status === 'SENT' && final && isNew
}

/**
 * Whom the status of their commit shows: the newest with a result or at work, else the newest.
 * `runs` are in the order of their claims, newest first.
 */
export function shownOf(runs: readonly Run[]): Run | null {
  return runs.find(hasResult) ?? runs.find((run) => !wasNeverTaken(run)) ?? null
}

/**
 * The other side's id of what covers what `shown` said; null where nothing does. While one of its
 * own is still to be sent nothing is known yet: that one asks again.
 */
export function coveredBy(
  covering: Covering,
  shown: Run,
  deliveries: readonly Delivery[],
): string | null {
  if (isActive(shown)) return null
  const own = deliveries.filter(({ runId, round }) => runId === shown.id && round === shown.round)
  const first = own.find(({ target }) => target === covering.targetOf(shown))
  if (first?.status !== 'SENT' || own.some(isOpen)) return null
  const newest = deliveries
    .filter(({ providerId }) => providerId !== null)
    .toSorted((a, b) => Number(b.providerId) - Number(a.providerId))
    .at(0)
  if (newest === undefined || own.includes(newest)) return null
  const resultOf = ({ content }: Delivery): unknown =>
    covering.resultOf(JSON.parse(content) as Content)
  // One end without a result is as good as another; a result of an earlier round is not.
  const isAlike = !hasResult(shown) && resultOf(newest) === resultOf(first)
  return isAlike ? null : newest.providerId
}
