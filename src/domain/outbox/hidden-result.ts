/**
 * Finds out whether a run's result is hidden. On a commit GitHub shows only the newest check run of
 * a name, and a completed check run cannot be brought to the front again. Several runs can share a
 * commit: runs of two pull requests, or of two bases. So the newest check run may belong to a run
 * that the commit status does not show: one that ended without a result, one that came late, or an
 * earlier round. Then the run that the status shows repeats its result in a new check run. A
 * channel with this problem declares `repeatWhenHidden`.
 *
 * What must hold: the repeat is made only after the check run that hides the result is known to be
 * on GitHub. It is made once for each such check run, even after a crash, because its target and
 * its marker key contain the id of that check run.
 */
import type { Run } from '../run.ts'
import { isActive } from '../run.ts'
import { wasNeverCurrent } from './announce.ts'
import type { ChannelDeclaration, Content, RepeatWhenHidden } from './channel-declaration.ts'
import type { Delivery } from './delivery.ts'
import { isOpen } from './delivery.ts'
import { hasOrExpectsResult } from './give-back.ts'

/** The names of deliveries that show a run's result. */
export function resultNames({
  announcement,
  repeatWhenHidden,
}: ChannelDeclaration): readonly string[] {
  return [announcement?.name, repeatWhenHidden?.repeatName].filter((name) => name !== undefined)
}

/** Whether this change made a check run known that may hide another one. */
export function mayHide(channel: ChannelDeclaration, before: Delivery, after: Delivery): boolean {
  const { name, status, final, providerId } = after
  if (channel.repeatWhenHidden === undefined || !resultNames(channel).includes(name)) return false
  const isNew = before.status !== 'SENT' || before.providerId !== providerId
  return status === 'SENT' && final && isNew
}

/**
 * The run that the commit status shows: the newest that is active or has a result, else the newest.
 * `runs` are in the order of their claims, newest first.
 */
export function shownRun(runs: readonly Run[]): Run | null {
  return runs.find(hasOrExpectsResult) ?? runs.find((run) => !wasNeverCurrent(run)) ?? null
}

/**
 * The id of the check run that hides the result of `shown`; null if none does. While `shown` has an
 * open delivery, the answer is null: when that one is sent, this is checked again.
 */
export function hiddenBy(
  declared: RepeatWhenHidden,
  shown: Run,
  deliveries: readonly Delivery[],
): string | null {
  if (isActive(shown)) return null
  const own = deliveries.filter(({ runId, round }) => runId === shown.id && round === shown.round)
  const first = own.find(({ target }) => target === declared.targetOf(shown))
  if (first?.status !== 'SENT' || own.some(isOpen)) return null
  const newest = deliveries
    .filter(({ providerId }) => providerId !== null)
    .toSorted((a, b) => Number(b.providerId) - Number(a.providerId))
    .at(0)
  if (newest === undefined || own.includes(newest)) return null
  const resultOf = ({ content }: Delivery): unknown =>
    declared.resultOf(JSON.parse(content) as Content)
  // Two ends without a result show the same, so there is nothing to repeat.
  const isAlike = !hasOrExpectsResult(shown) && resultOf(newest) === resultOf(first)
  return isAlike ? null : newest.providerId
}
