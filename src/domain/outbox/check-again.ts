/**
 * GitHub shows the newest check run of a name on a commit, and one that is completed cannot be
 * brought to the front again. Runs share a commit (two pull requests, or two bases of one), so the
 * newest may be of a run that the commit status does not show: one that ended without a result, or
 * one that came late; so may one of an earlier round. Then the run that the status shows says how
 * it ended once more, in a new check run.
 *
 * What must hold: it is made only after the one it has to cover is known to be there, and once for
 * each such, whoever dies in between: both its target and its key name that one by GitHub's id.
 */
import type { Run } from '../run.ts'
import { isActive } from '../run.ts'
import type { WantedOutput } from './announce.ts'
import { checkContent, checkMarkerText, checkTarget, wasNeverTaken } from './announce.ts'
import type { Delivery } from './delivery.ts'
import { isOpen } from './delivery.ts'
import { hasResult } from './said-there.ts'

/** No name that a run can give its own output. */
export const checkAgain = 'check again'

/** The deliveries that say how a run came out. */
export const checkNames = ['check', checkAgain] as const

/** Whether a check run became known that may cover others: only then is there something to say. */
export function mayCover(before: Delivery, after: Delivery): boolean {
  const { channel, name, status, final, providerId } = after
  if (channel !== 'github-check' || !checkNames.some((own) => own === name)) return false
  const isNew = before.status !== 'SENT' || before.providerId !== providerId
  return status === 'SENT' && final && isNew
}

export function checkNameOf({ content }: Pick<Delivery, 'content'>): string {
  return (JSON.parse(content) as { readonly name: string }).name
}

/**
 * Whom the status of their commit shows: the newest with a result or at work, else the newest.
 * `runs` are in the order of their claims, newest first.
 */
export function shownOf(runs: readonly Run[]): Run | null {
  return runs.find(hasResult) ?? runs.find((run) => !wasNeverTaken(run)) ?? null
}

/**
 * GitHub's id of the check run that covers what `shown` said; null where none does. While one of
 * its own is still to be sent nothing is known yet: that one asks again.
 */
export function coveredBy(shown: Run, checks: readonly Delivery[]): string | null {
  if (isActive(shown)) return null
  const own = checks.filter(({ runId, round }) => runId === shown.id && round === shown.round)
  const first = own.find(({ target }) => target === checkTarget(shown))
  if (first?.status !== 'SENT' || own.some(isOpen)) return null
  const newest = checks
    .filter(({ providerId }) => providerId !== null)
    .toSorted((a, b) => Number(b.providerId) - Number(a.providerId))
    .at(0)
  if (newest === undefined || own.includes(newest)) return null
  // One end without a result is as good as another; a result of an earlier round is not.
  const isAlike = !hasResult(shown) && conclusionOf(newest) === conclusionOf(first)
  return isAlike ? null : newest.providerId
}

const conclusionOf = ({ content }: Delivery): unknown =>
  (JSON.parse(content) as { readonly conclusion: unknown }).conclusion

/** It begins and ends as it is said: whoever goes by times must find it to be the newest, too. */
export function outputAgain(run: Run, coveredBy: string, now: number): WantedOutput {
  return {
    kind: 'state',
    channel: 'github-check',
    name: checkAgain,
    target: `check-again ${run.id} ${run.round} after ${coveredBy}`,
    markerText: `${checkMarkerText(run, run.round)} after ${coveredBy}`,
    thread: run.pr,
    sha: run.headSha,
    content: { ...checkContent(run), startedAt: now, completedAt: now },
    final: true,
    announces: false,
    claim: 'take',
    closesOnly: false,
  }
}
