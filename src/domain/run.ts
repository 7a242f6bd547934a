/**
 * A run: one piece of work on one subject, and every change of its state. Pure: each function takes
 * a run and answers the run to store. The store writes it only if nobody changed it meanwhile.
 *
 *                      lease / claim                complete
 *        ┌──────────┐ ─────────────▶ ┌─────────┐ ─────────────▶ succeeded | failed | skipped
 *   ───▶ │ pending  │                │ running │
 *        └──────────┘ ◀───────────── └─────────┘ ─ timeout, lost ─▶ failed
 *             │   release, lost lease     │
 *             │                           │
 *             └── newer head ─▶ superseded ◀── newer head ──┘      cancel ─▶ cancelled
 *
 *   Any ended state ── rerun, retry, returned ──▶ pending or running in the next round.
 *   `waiting` is a run that waits for a person. While a step is held it has no lease and no
 *   deadline; after the decision it is pending again, in the same attempt.
 */

import type { Holder, LeaseGrant } from './lease-grant.ts'
import type { ReportGroup } from './outbox/anchor-view.ts'

export type * from './lease-grant.ts'

export const runStates = [
  'pending',
  'running',
  'waiting',
  'succeeded',
  'failed',
  'cancelled',
  'skipped',
  'superseded',
] as const
export type RunState = (typeof runStates)[number]

export const activeStates = ['pending', 'running', 'waiting'] as const satisfies RunState[]

export const outcomes = ['succeeded', 'failed', 'skipped'] as const satisfies RunState[]
export type Outcome = (typeof outcomes)[number]

export const verdicts = ['success', 'failure', 'neutral'] as const
export type Verdict = (typeof verdicts)[number]

/** What happens to a run when a newer one of the same subject is claimed. */
export const onNewerChoices = ['supersede', 'queue', 'skip'] as const
export type OnNewer = (typeof onNewerChoices)[number]

/** How runs of a type are shown on GitHub. Null or empty: not shown there. */
export interface Announcement {
  /** One comment per subject, or per run. */
  readonly anchorPer: 'subject' | 'run' | null
  /** The context of the commit status. */
  readonly statusContext: string | null
  /** The name of the check run. */
  readonly checkName: string | null
  /** A language tag, such as `ru-RU`. */
  readonly locale: string
}

export const unannounced: Announcement = {
  anchorPer: null,
  statusContext: null,
  checkName: null,
  locale: 'en',
}

export interface RunPolicy {
  readonly announcement: Announcement

  readonly onNewer: OnNewer
  /** How many holders may be lost in one round before the run fails. */
  readonly attempts: number
  /** How long one holder may work. */
  readonly timeoutMs: number
  /** How long a run may wait for a worker. */
  readonly pendingTimeoutMs: number
}

export interface Run extends Announcement {
  readonly id: string
  /** Raised by every write; the store's compare-and-set. */
  readonly rev: number
  readonly type: string
  readonly subjectId: string
  /** The repository's own id, which no rename changes; '' for a job without a repository. */
  readonly scope: string
  /** The subject's name: `pr-5`, or a caller's own. */
  readonly subject: string
  /** What users see and claim by; shows the repository's name at claim time. */
  readonly key: string
  /** The key within the subject, without the repository's name. */
  readonly pair: string
  readonly repo: string | null
  readonly pr: number | null
  readonly baseSha: string | null
  readonly headSha: string | null
  readonly state: RunState
  readonly onNewer: OnNewer
  readonly attempt: number
  readonly round: number
  /** The id of the audit row that last gave the run to somebody, or took it away. Only grows. */
  readonly fence: number
  /**
   * The fence of the claim that began this round. It is the version of what the round publishes.
   */
  readonly claimFence: number
  /** What its holders reported in this round: the last few groups. */
  readonly reports: readonly ReportGroup[]
  /** GitHub's time of the event that made this head the head; null while that is unverified. */
  readonly orderAt: number | null
  /** The newest event of this key that was decided. */
  readonly lastEventAt: number | null
  readonly rerunWanted: boolean
  /** A person asked for this round: it is leased before others, and has a slot of its own. */
  readonly asked: boolean
  readonly leaseHash: string | null
  /** Hashes of the last few leases, newest first: an old token gets `lease_lost`, and not 401. */
  readonly pastLeaseHashes: string
  /** The lease that completed the last round: a repeated completion is answered, not refused. */
  readonly completedLeaseHash: string | null
  readonly leaseMs: number
  readonly leaseExpiresAt: number | null
  readonly holder: Holder | null
  readonly worker: string | null
  /** The token that its lease was obtained with; null for the admin's own and for the library. */
  readonly tokenId: string | null
  /** When that token, and the lease with it, ends; 0 after it was revoked. */
  readonly tokenUntil: number | null
  /** Since when a pending run may be leased; null while it queues behind another. */
  readonly availableAt: number | null
  /** When the sweeper has to check it next; null when never. */
  readonly dueAt: number | null
  readonly attemptsMax: number
  readonly timeoutMs: number
  readonly pendingTimeoutMs: number
  readonly createdAt: number
  readonly startedAt: number | null
  readonly finishedAt: number | null
  readonly deadlineAt: number | null
  readonly supersededBy: string | null
  readonly outcome: Outcome | null
  readonly verdict: Verdict | null
  readonly summary: string | null
  readonly description: string | null
  readonly targetUrl: string | null
  /** JSON as text; never parsed. */
  readonly input: string | null
  readonly result: string | null
  readonly errorCode: string | null
  readonly errorText: string | null
  readonly webhookId: string | null
  readonly triggerEvent: string | null
  readonly triggerAction: string | null
  readonly triggerSender: string | null
  readonly previousRunId: string | null
  readonly previousHeadSha: string | null
  readonly previousVerdict: Verdict | null
}

/**
 * A time in which holders could not reach us: the server or the store was down, the machine slept
 * or its clock jumped. A lease that ran out in it gets one more full lease: see `endOf`.
 */
export interface Interruption {
  readonly beganAt: number
  readonly endedAt: number
}

export interface Moment {
  readonly now: number
  /** The recent ones, in the order of their ends. */
  readonly interruptions: readonly Interruption[]
}

/** Every write of a run writes them all, so they must not grow with each release and rerun. */
const pastLeaseHashesKept = 16
/** `tokenUntil` of a lease whose token was revoked. */
export const revokedUntil = 0
/** For this many further leases, the run of an outside caller waits for its next claim. */
export const furtherLeases = 10

export function isActive(run: Pick<Run, 'state'>): boolean {
  return run.state === 'pending' || run.state === 'running' || run.state === 'waiting'
}

/** In a queue at most one run is ahead: it is active or can be leased. The others wait for it. */
export function isAhead(run: Run): boolean {
  return isActive(run) && (run.state !== 'pending' || run.availableAt !== null)
}

/**
 * When a lease that ends at `at` really ends. A lease that was valid when an interruption began
 * gets a full lease from the end of the interruption. Further interruptions only pause that lease.
 * So a dead holder is found after at most two leases plus the interruptions.
 */
export function endOf(at: number, run: Run, moment: Moment): number {
  let end = at
  let backAt = -Infinity
  for (const { beganAt, endedAt } of moment.interruptions) {
    if (end <= beganAt) continue
    const isFirst = backAt === -Infinity
    const extended = isFirst
      ? Math.max(end, endedAt + run.leaseMs)
      : end + Math.max(0, endedAt - Math.max(beganAt, backAt))
    // An interruption that ended before the lease was renewed changes nothing.
    if (extended > end) backAt = endedAt
    end = extended
  }
  return end
}

export function hasPassed(at: number | null, run: Run, moment: Moment): boolean {
  return at !== null && at <= moment.now && endOf(at, run, moment) <= moment.now
}

/** Its token was revoked or ran out. No extra time is given: somebody chose this end. */
export function tokenHasEnded({ tokenUntil }: Pick<Run, 'tokenUntil'>, now: number): boolean {
  return tokenUntil !== null && tokenUntil <= now
}

export function leaseIsLost(run: Run, moment: Moment): boolean {
  if (run.state !== 'running') return false
  return tokenHasEnded(run, moment.now) || hasPassed(run.leaseExpiresAt, run, moment)
}

/**
 * Removes the holder, which gets `lease_lost` from now on. A revoked one is forgotten: it may not
 * even send a late result.
 */
function withoutLease(run: Run): Run {
  const last = run.tokenUntil === revokedUntil ? null : run.leaseHash
  const past = [last, ...run.pastLeaseHashes.split(' ')].filter((hash) => hash)
  return {
    ...run,
    leaseHash: null,
    pastLeaseHashes: past.slice(0, pastLeaseHashesKept).join(' '),
    leaseExpiresAt: null,
    holder: null,
    worker: null,
    tokenId: null,
    tokenUntil: null,
    deadlineAt: null,
  }
}

export function start(run: Run, lease: LeaseGrant, now: number): Run {
  const { token } = lease
  const leaseExpiresAt = Math.min(now + lease.ms, token?.until ?? Infinity)
  const deadlineAt = now + run.timeoutMs
  return {
    ...withoutLease(run),
    state: 'running',
    leaseHash: lease.hash,
    leaseMs: lease.ms,
    leaseExpiresAt,
    holder: lease.holder,
    worker: lease.worker,
    tokenId: token?.id ?? null,
    tokenUntil: token?.until ?? null,
    availableAt: null,
    startedAt: now,
    deadlineAt,
    dueAt: Math.min(leaseExpiresAt, deadlineAt),
  }
}

/**
 * Never shortens a lease because of a clock that differs. Only the holder itself can ask for a
 * shorter lease.
 */
export function renew(run: Run, leaseMs: number, now: number): Run {
  const promisedAt = leaseMs < run.leaseMs ? null : run.leaseExpiresAt
  const wantedAt = Math.max(now + leaseMs, promisedAt ?? 0)
  const leaseExpiresAt = Math.min(wantedAt, run.tokenUntil ?? Infinity)
  const dueAt = Math.min(leaseExpiresAt, run.deadlineAt ?? leaseExpiresAt)
  return { ...run, leaseMs, leaseExpiresAt, dueAt }
}

export function makePending(run: Run, now: number): Run {
  return {
    ...withoutLease(run),
    state: 'pending',
    availableAt: now,
    startedAt: null,
    dueAt: now + run.pendingTimeoutMs,
  }
}

/**
 * A step of it is in doubt, and only a person can tell whether it happened. Its holder is let go
 * and learns `lease_lost`.
 */
export function holdForPerson(run: Run, untilAt: number): Run {
  return { ...withoutLease(run), state: 'waiting', availableAt: null, dueAt: untilAt }
}

/** It waits for a person's decision about a step, without a holder. */
export function isHeldForPerson(run: Run): boolean {
  return run.state === 'waiting' && run.leaseHash === null
}

/** Pending behind another run of its subject: it cannot be leased, and its wait has no limit. */
export function makeQueued(run: Run): Run {
  return { ...withoutLease(run), state: 'pending', availableAt: null, startedAt: null, dueAt: null }
}

export interface Ending {
  readonly state: Exclude<RunState, (typeof activeStates)[number]>
  readonly outcome?: Outcome
  readonly verdict?: Verdict | null
  readonly summary?: string | null
  readonly description?: string | null
  readonly targetUrl?: string | null
  readonly result?: string | null
  readonly errorCode?: string | null
  readonly errorText?: string | null
  readonly supersededBy?: string
}

export function end(run: Run, ending: Ending, now: number): Run {
  return {
    ...run,
    state: ending.state,
    availableAt: null,
    dueAt: null,
    leaseExpiresAt: null,
    finishedAt: now,
    supersededBy: ending.supersededBy ?? null,
    outcome: ending.outcome ?? null,
    verdict: ending.verdict ?? null,
    summary: ending.summary ?? null,
    description: ending.description ?? null,
    targetUrl: ending.targetUrl ?? null,
    result: ending.result ?? null,
    errorCode: ending.errorCode ?? null,
    errorText: ending.errorText ?? null,
    // A requested rerun follows a round with an outcome, not one that was cancelled.
    rerunWanted: run.rerunWanted && ending.outcome !== undefined,
  }
}

/** Its lease was lost too often in this round: it fails instead of getting another holder. */
export function isExhausted(run: Run, moment: Moment): boolean {
  return leaseIsLost(run, moment) && run.attempt >= run.attemptsMax
}

export function exhaust(run: Run, now: number): Run {
  return fail(run, 'attempts_exhausted', `${run.attempt} workers in a row were lost`, now)
}

export function supersede(run: Run, byKey: string, now: number): Run {
  return end(run, { state: 'superseded', supersededBy: byKey }, now)
}

/** Ends a run without its worker, which gets `lease_lost` from now on. */
export function fail(run: Run, code: string, text: string, now: number): Run {
  return end(
    withoutLease(run),
    { state: 'failed', outcome: 'failed', errorCode: code, errorText: text },
    now,
  )
}

/**
 * Starts the next round with nothing of the last one; the run is neither held nor ended.
 * `pastRound` is the last round of a purged run of this key.
 */
export function nextRound(run: Run, pastRound: number): Run {
  return {
    ...withoutLease(run),
    round: Math.max(run.round, pastRound) + 1,
    attempt: 1,
    reports: [],
    rerunWanted: false,
    startedAt: null,
    finishedAt: null,
    supersededBy: null,
    outcome: null,
    verdict: null,
    summary: null,
    description: null,
    targetUrl: null,
    result: null,
    errorCode: null,
    errorText: null,
  }
}
