/**
 * Decides which of two heads is newer. Webhooks arrive late, twice and out of order, so arrival
 * proves nothing. The order of a head is GitHub's time of the event that made it the head.
 *
 * These times are whole seconds, and a claim over HTTP may have none. If they do not decide, the
 * order of arrival is used for now, the order stays unverified, and GitHub is asked outside the
 * transaction to confirm the head. If two times differ by so little that a clock may be wrong, the
 * current head stays current until GitHub answers.
 *
 * What must hold: an unverified order never makes a verified one stale.
 */
import type { Subject } from './subject.ts'

/** How far correct clocks may differ: a caller's, GitHub's and the store's. */
export const clocksDifferMsMax = 2000

/**
 * A caller may send its own time, which may be ahead of ours, while GitHub's clock may be behind
 * ours. So a head that looks older by no more than this may be the newer one, and GitHub is asked.
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
  /** True when the order is not certain and GitHub should be asked. */
  readonly unclear: boolean
}

/** What else the store knows about the order. */
export interface HeadKnowledge {
  /** This event was already decided, for a known head. So it says nothing new. */
  readonly repeated: boolean
  /** The last event of the active run on the current head; null when there is none. */
  readonly currentEventAt: number | null
}

const stale: HeadRank = { rank: 'stale', orderAt: null, unclear: false }
/** Older by its time alone. If the difference is small, a clock may be wrong: ask GitHub. */
const staleBy = (ms: number): HeadRank => ({ ...stale, unclear: ms <= orderDoubtMs })
const byArrival: HeadRank = { rank: 'newer', orderAt: null, unclear: true }
const newer = (orderAt: number | null): HeadRank => ({ rank: 'newer', orderAt, unclear: false })

export function rankHead(claim: HeadClaim, subject: Subject, knowledge: HeadKnowledge): HeadRank {
  const madeAt = claim.headMaking ? claim.eventAt : null
  if (subject.currentPair === null) return newer(madeAt)
  if (subject.currentPair === claim.pair) return rankCurrent(madeAt, subject)
  if (!claim.headMaking) return rankMention(claim, subject, knowledge)
  if (madeAt === null) return byArrival
  if (subject.floorAt !== null && madeAt < subject.floorAt) return staleBy(subject.floorAt - madeAt)
  if (subject.headAt !== null) {
    return madeAt > subject.headAt ? newer(madeAt) : rankTie(claim, subject, madeAt)
  }
  // The current head is unverified: this one is newer than every verified head, or ties with one.
  if (madeAt === subject.floorAt) return byArrival
  return { rank: 'newer', orderAt: madeAt, unclear: true }
}

/** The order of the current head only grows, and an event below the floor does not verify it. */
function rankCurrent(madeAt: number | null, subject: Subject): HeadRank {
  const { headAt, floorAt } = subject
  let orderAt = headAt
  if (madeAt !== null) {
    if (headAt !== null) orderAt = Math.max(headAt, madeAt)
    else if (floorAt === null || madeAt > floorAt) orderAt = madeAt
  }
  return { rank: 'current', orderAt, unclear: false }
}

/**
 * A label, a command or a rerun names a head without making it, and never raises its order. A
 * replaced head may have come back without an event, so it is not stale for that reason alone.
 */
function rankMention(claim: HeadClaim, subject: Subject, knowledge: HeadKnowledge): HeadRank {
  if (knowledge.repeated) return stale
  const newestAt = Math.max(subject.floorAt ?? -Infinity, knowledge.currentEventAt ?? -Infinity)
  const isOlder = claim.eventAt !== null && claim.eventAt < newestAt
  return isOlder ? staleBy(newestAt - claim.eventAt) : byArrival
}

function rankTie(claim: HeadClaim, subject: Subject, madeAt: number): HeadRank {
  const follows = claim.beforeSha !== null && claim.beforeSha === subject.headSha
  const precedes = subject.headBefore !== null && subject.headBefore === claim.headSha
  // a → b and b → a within a second: each of them follows the other.
  if (follows === precedes) return byArrival
  // a → b → c → a within a second: a replaced head may be back, but only a push brings it back.
  return follows
    ? { ...newer(madeAt), unclear: subject.headBefore !== null }
    : { ...stale, unclear: claim.beforeSha !== null }
}
