/**
 * Which of two heads is newer. Webhooks come late, twice and out of order, so arrival proves
 * nothing; the order belongs to the head: GitHub's time of the event that made it the head.
 *
 * Those times have one-second resolution and a claim over HTTP may carry none. Where they do not
 * decide, arrival holds for now, the order is left unverified, and a look at GitHub outside the
 * transaction settles it. The same where they decide by so little that a clock may be wrong: what
 * is current stays so for now. What must hold: an unverified order never makes a verified one
 * stale.
 */
import type { Subject } from './subject.ts'

/** As far as clocks that are kept right differ: a caller's, GitHub's and the store's. */
export const clocksDifferMsMax = 2000

/**
 * A caller may pass its own time for GitHub's, ahead of ours by as much, and GitHub may be behind
 * by as much. So what is older by no more than this may be the newer one, and GitHub is asked.
 */
export const orderDoubtMs = 2 * clocksDifferMsMax

export interface HeadClaim {
  readonly pair: string
  readonly headSha: string | null
  readonly beforeSha: string | null
  /** Whether the event made this head the head (opened, synchronize …), or merely mentions it. */
  readonly headMaking: boolean
  readonly eventAt: number | null
}

export interface HeadRank {
  readonly rank: 'current' | 'newer' | 'stale'
  /** The head's verified order, or null when it has none. */
  readonly orderAt: number | null
  /** True when arrival decided, or the order is only likely, and GitHub should be asked. */
  readonly unclear: boolean
}

/** What else the store knows that tells of the order. */
export interface HeadKnowledge {
  /** This event was decided before, on a head that is known: sent again it says nothing new. */
  readonly repeated: boolean
  /** The last event of the run at work on the current head; null when nobody works on it. */
  readonly currentHeardAt: number | null
}

const stale: HeadRank = { rank: 'stale', orderAt: null, unclear: false }
/** Older than the newest that is known: by its time alone, and times may be wrong by a little. */
const staleBy = (ms: number): HeadRank => ({ ...stale, unclear: ms <= orderDoubtMs })
const byArrival: HeadRank = { rank: 'newer', orderAt: null, unclear: true }
const newer = (orderAt: number | null): HeadRank => ({ rank: 'newer', orderAt, unclear: false })

export function rankHead(claim: HeadClaim, subject: Subject, known: HeadKnowledge): HeadRank {
  const made = claim.headMaking ? claim.eventAt : null
  if (subject.currentPair === null) return newer(made)
  if (subject.currentPair === claim.pair) return rankCurrent(made, subject)
  if (!claim.headMaking) return rankMention(claim, subject, known)
  if (made === null) return byArrival
  if (subject.floorAt !== null && made < subject.floorAt) return staleBy(subject.floorAt - made)
  if (subject.headAt !== null) {
    return made > subject.headAt ? newer(made) : rankTie(claim, subject, made)
  }
  // The current head is unverified: this one is newer than every verified head, or ties with one.
  if (made === subject.floorAt) return byArrival
  return { rank: 'newer', orderAt: made, unclear: true }
}

/** The current head's order only rises, and an event below the floor does not verify it. */
function rankCurrent(made: number | null, subject: Subject): HeadRank {
  const { headAt, floorAt } = subject
  let orderAt = headAt
  if (made !== null) {
    if (headAt !== null) orderAt = Math.max(headAt, made)
    else if (floorAt === null || made > floorAt) orderAt = made
  }
  return { rank: 'current', orderAt, unclear: false }
}

/**
 * A label, a command, a rerun or a look names a head without having made it, and never raises its
 * order. It may have returned unheard, so a head that was replaced is not stale for that alone.
 */
function rankMention(claim: HeadClaim, subject: Subject, known: HeadKnowledge): HeadRank {
  if (known.repeated) return stale
  const newestAt = Math.max(subject.floorAt ?? -Infinity, known.currentHeardAt ?? -Infinity)
  const isOlder = claim.eventAt !== null && claim.eventAt < newestAt
  return isOlder ? staleBy(newestAt - claim.eventAt) : byArrival
}

function rankTie(claim: HeadClaim, subject: Subject, made: number): HeadRank {
  const follows = claim.beforeSha !== null && claim.beforeSha === subject.headSha
  const precedes = subject.headBefore !== null && subject.headBefore === claim.headSha
  // a → b and b → a within a second: each of them follows the other.
  if (follows === precedes) return byArrival
  // a → b → c → a within a second: what was replaced may be back. Only a push can bring it back.
  return follows
    ? { ...newer(made), unclear: subject.headBefore !== null }
    : { ...stale, unclear: claim.beforeSha !== null }
}
