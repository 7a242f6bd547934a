/**
 * Whether a comment that asks for work may be applied to a head. Somebody looked at a pull request
 * and wrote a command; who pushes right after it must not get other commits worked on.
 *
 * Only GitHub's own times prove anything: a commit's dates are written by whoever made it. GitHub
 * tells the time by the second, so what happened in the comment's own second may be after it.
 * What must hold: true only if the head was the head before the second of the comment.
 */
import type { HeardHead } from './inbox.ts'

/** A head as GitHub named it: in the event, or when it was asked. */
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
  heard: readonly HeardHead[],
): boolean {
  // What GitHub said is from before the comment: at that time it was the head.
  if (head.updatedAt !== null && head.updatedAt < commentAt) return true
  const otherAt = Math.max(
    -Infinity,
    ...heard.filter(({ headSha }) => headSha !== head.headSha).map(({ at }) => at),
  )
  // Of two heads in one second nobody can tell which was the head after it.
  const wasHead = heard.some(
    ({ at, headSha }) => headSha === head.headSha && at > otherAt && at < commentAt,
  )
  const isMadeSince = heard.some(
    ({ at, headSha, by }) => headSha === head.headSha && by === 'event' && at >= commentAt,
  )
  const isUnpushed = head.pushedAt !== null && head.pushedAt < commentAt
  // Reopening makes a head without a push. What was the head before may have been replaced unheard.
  return isMadeSince ? wasHead && isUnpushed : wasHead || isUnpushed
}
