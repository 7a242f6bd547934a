/**
 * Which of two heads is newer. Webhooks come late, twice and out of order, so arrival proves
 * nothing; the order belongs to the head: GitHub's time of the event that made it the head.
 *
 * Those times have one-second resolution and a claim over HTTP may carry none. Where they do not
 * decide, arrival holds for now, the order is left unverified, and a look at GitHub outside the
 * transaction settles it. What must hold: an unverified order never makes a verified one stale.
 */
import type { Subject } from './subject.ts'

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
  /** True when arrival decided and GitHub should be asked. */
  readonly unclear: boolean
}

const stale: HeadRank = { rank: 'stale', orderAt: null, unclear: false }
const byArrival: HeadRank = { rank: 'newer', orderAt: null, unclear: true }
const newer = (orderAt: number | null): HeadRank => ({ rank: 'newer', orderAt, unclear: false })

export function rankHead(claim: HeadClaim, subject: Subject, seenBefore: boolean): HeadRank {
  const made = claim.headMaking ? claim.eventAt : null
  if (subject.currentPair === null) return newer(made)
  if (subject.currentPair === claim.pair) return rankCurrent(made, subject)
  if (!claim.headMaking) return rankMention(claim, subject, seenBefore)
  if (made === null) return byArrival
  if (subject.floorAt !== null && made < subject.floorAt) return stale
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

/** A label, a command or a rerun uses the order its head already has and never raises it. */
function rankMention(claim: HeadClaim, subject: Subject, seenBefore: boolean): HeadRank {
  if (seenBefore) return stale
  const below =
    claim.eventAt !== null && subject.floorAt !== null && claim.eventAt < subject.floorAt
  return below ? stale : byArrival
}

function rankTie(claim: HeadClaim, subject: Subject, made: number): HeadRank {
  if (claim.beforeSha !== null && claim.beforeSha === subject.headSha) return newer(made)
  if (subject.headBefore !== null && subject.headBefore === claim.headSha) return stale
  return byArrival
}
