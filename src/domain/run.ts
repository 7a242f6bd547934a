/**
 * A run: one piece of work on one subject, and every way it can move. Pure: each function takes a
 * run and answers the run as it should be stored; the store writes it only if nobody else did.
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
 *   `waiting` is running that waits for a person; its lease is kept by the store.
 */

import type { ReportGroup } from './outbox/anchor-view.ts'

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

/** What becomes of a run when a newer one of the same subject is claimed. */
export const onNewerChoices = ['supersede', 'queue', 'skip'] as const
export type OnNewer = (typeof onNewerChoices)[number]

/** Who leased decides what a lost lease leads to: see `sweep`. */
export type Holder = 'caller' | 'worker'

/** How runs of a type show on GitHub; null and empty where they do not. */
export interface Announcement {
  /** One comment per subject, or per run. */
  readonly anchorPer: 'subject' | 'run' | null
  /** Of the commit status. */
  readonly statusContext: string | null
  /** Of the check run. */
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
  /** What the key is within its subject, free of the repository's name. */
  readonly pair: string
  readonly repo: string | null
  readonly pr: number | null
  readonly baseSha: string | null
  readonly headSha: string | null
  readonly state: RunState
  readonly onNewer: OnNewer
  readonly attempt: number
  readonly round: number
  /** The id of the audit row of the newest claim or lease. Only grows. */
  readonly fence: number
  /** The fence of the claim that began this round: what it publishes has it as its version. */
  readonly claimFence: number
  /** What its holders reported in this round: the last few groups. */
  readonly reports: readonly ReportGroup[]
  /** GitHub's time of the event that made this head the head; null while that is unverified. */
  readonly orderAt: number | null
  /** The newest event of this key that was decided on. */
  readonly lastEventAt: number | null
  readonly rerunWanted: boolean
  readonly leaseHash: string | null
  /** Hashes of earlier leases, newest first, so that an old token is told `lease_lost`, not 401. */
  readonly pastLeaseHashes: string
  /** The lease whose holder completed the last ended round: its repeat is answered, not refused. */
  readonly completedLeaseHash: string | null
  readonly leaseMs: number
  readonly leaseExpiresAt: number | null
  readonly holder: Holder | null
  readonly worker: string | null
  /** The token its lease was obtained with; null for the admin's own and for the library. */
  readonly tokenId: string | null
  /** When that token ends, and the lease with it; 0 once it was revoked. */
  readonly tokenUntil: number | null
  /** Since when a pending run may be leased; null while it queues behind another. */
  readonly availableAt: number | null
  /** When the sweeper has to look at it next; null when never. */
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
  /** JSON texts; never looked into. */
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
 * A stretch in which holders could not reach us: the server was down, the store was away, the
 * machine slept or its clock jumped. What ran out in it gets one full lease more: see `endOf`.
 */
export interface Interruption {
  readonly beganAt: number
  readonly endedAt: number
}

export interface Moment {
  readonly now: number
  /** The recent ones, in the order in which they ended. */
  readonly interruptions: readonly Interruption[]
}

export interface LeaseGrant {
  /** Handed to the holder; only its hash is ever stored. */
  readonly secret: string
  readonly hash: string
  readonly ms: number
  readonly holder: Holder
  readonly worker: string | null
  readonly token?: LeaseToken | null
  /** Of the claimer's earlier claims of this key whose answer it never heard. */
  readonly unanswered?: readonly LeaseSecret[]
}

export interface LeaseSecret {
  readonly secret: string
  readonly hash: string
}

/** The token a lease was obtained with: the lease does not outlive it. */
export interface LeaseToken {
  readonly id: string
  /** Null when it does not end by itself. */
  readonly until: number | null
}

const pastLeaseHashesKept = 16
/** An outside caller's run is kept this many further leases for its next claim. */
export const furtherLeases = 10

export function isActive(run: Run): boolean {
  return run.state === 'pending' || run.state === 'running' || run.state === 'waiting'
}

/** In a queue at most one run is ahead: worked on, or free to be leased. The others wait for it. */
export function isAhead(run: Run): boolean {
  return isActive(run) && (run.state !== 'pending' || run.availableAt !== null)
}

/**
 * When `at` is really over. Whoever had not run out when we went absent has a full lease from our
 * return on; a further absence only stops the clock of that lease. So a dead holder is found after
 * two leases and the absences at the latest, however many short ones there were.
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
    // One that ended before the lease was renewed gives nothing, and uses nothing up.
    if (extended > end) backAt = endedAt
    end = extended
  }
  return end
}

export function hasPassed(at: number | null, run: Run, moment: Moment): boolean {
  return at !== null && at <= moment.now && endOf(at, run, moment) <= moment.now
}

/** Its token was revoked or has run out. Nobody gets time for that: it was meant to end then. */
export function tokenHasEnded({ tokenUntil }: Run, now: number): boolean {
  return tokenUntil !== null && tokenUntil <= now
}

export function leaseIsLost(run: Run, moment: Moment): boolean {
  if (run.state !== 'running') return false
  return tokenHasEnded(run, moment.now) || hasPassed(run.leaseExpiresAt, run, moment)
}

/** The holder changes: whoever held it before is now told `lease_lost`. */
function withoutLease(run: Run): Run {
  const past = [run.leaseHash, ...run.pastLeaseHashes.split(' ')].filter((hash) => hash)
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
 * Never lowers what the holder was promised, whatever the clock it is renewed by, unless the holder
 * itself asks for a shorter lease than it has.
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

/** Pending, but behind another run of its subject: not to be leased and not counted as waiting. */
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
    // A wanted rerun follows a round that came to an outcome, not one that was called off.
    rerunWanted: run.rerunWanted && ending.outcome !== undefined,
  }
}

/** Lost once more than the round allows: it ends instead of finding a further holder. */
export function isExhausted(run: Run, moment: Moment): boolean {
  return leaseIsLost(run, moment) && run.attempt >= run.attemptsMax
}

export function exhaust(run: Run, now: number): Run {
  return fail(run, 'attempts_exhausted', `${run.attempt} workers in a row were lost`, now)
}

export function supersede(run: Run, byKey: string, now: number): Run {
  return end(run, { state: 'superseded', supersededBy: byKey }, now)
}

/** Ends a run without its worker, who is told `lease_lost` from now on. */
export function fail(run: Run, code: string, text: string, now: number): Run {
  return end(
    withoutLease(run),
    { state: 'failed', outcome: 'failed', errorCode: code, errorText: text },
    now,
  )
}

/**
 * The next round starts without anything of the last one; the run is neither held nor ended.
 * `pastRound` is the last of another run of this key, which is gone.
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
