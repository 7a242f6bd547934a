/**
 * Whether a comment that asks for work may start work on a head. Somebody read a pull request and
 * wrote a command. If somebody else pushes right after that, the command must not apply to the new
 * commits.
 *
 * Only GitHub's own times count: the author of a commit chooses its dates. GitHub's times are whole
 * seconds, so an event in the comment's second may be after the comment.
 * What must hold: true only if the commit was the head before the second of the comment.
 */
import type { EventHead } from './inbox.ts'

/** A head as GitHub named it, in the event or when asked. */
export interface NamedHead {
  readonly headSha: string
  /** The pull request's `updated_at` at that moment. */
  readonly updatedAt: number | null
  /** The last push to any branch of the head's repository; null where GitHub does not say. */
  readonly pushedAt: number | null
}

export function isBeforeComment(
  commentAt: number,
  head: NamedHead,
  eventHeads: readonly EventHead[],
): boolean {
  // GitHub named it as the head before the comment.
  if (head.updatedAt !== null && head.updatedAt < commentAt) return true
  const otherAt = Math.max(
    -Infinity,
    ...eventHeads.filter(({ headSha }) => headSha !== head.headSha).map(({ at }) => at),
  )
  // Of two heads in one second, nobody knows which came last.
  const wasHead = eventHeads.some(
    ({ at, headSha }) => headSha === head.headSha && at > otherAt && at < commentAt,
  )
  const isMadeSince = eventHeads.some(
    ({ at, headSha, by }) => headSha === head.headSha && by === 'event' && at >= commentAt,
  )
  const isUnpushed = head.pushedAt !== null && head.pushedAt < commentAt
  // Reopening makes a head without a push; an earlier head may have been replaced without an event.
  return isMadeSince ? wasHead && isUnpushed : wasHead || isUnpushed
}
