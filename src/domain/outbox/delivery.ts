/**
 * A delivery: one thing that must leave, on one channel. A *state* delivery says how a target
 * should look and only its newest version matters; a *message* must arrive once.
 *
 *              take        begin                 sent
 *   PENDING ─────────▶ leased ─────▶ attempt ─────────────▶ SENT ──▶ settle, scan (while unsettled)
 *      ▲                  │             │ unanswered, crash
 *      │   newer version  │             ▼
 *      └──────────────────┘         in doubt ── look ──▶ found: SENT · absent twice: send again
 *
 * What must hold: an attempt is stored before its request leaves; an outcome closes only the
 * version its attempt carried; a process that lost the lease changes nothing (its outcome is kept
 * as `late`, and the target counts as unsettled).
 */
import type { KeptOutput } from './give-back.ts'

export const deliveryStatuses = ['PENDING', 'SENT', 'FAILED', 'SKIPPED'] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]

export const deliveryWaits = [
  'due',
  'order',
  'leased',
  'backoff',
  'budget',
  'in_doubt',
  'held',
  'no_address',
] as const
export type DeliveryWait = (typeof deliveryWaits)[number]

export type DeliveryKind = 'state' | 'message'

export interface Delivery {
  readonly id: string
  /** Raised by every write; the store's compare-and-set. */
  readonly rev: number
  readonly kind: DeliveryKind
  /**
   * A name, because a newer program on this store may have channels that this one does not know.
   */
  readonly channel: string
  /** The place that it is written to. Unique. */
  readonly target: string
  /** `anchor`, `status`, `check`, or the name a run gave its own output. */
  readonly name: string
  /**
   * The run that it belongs to, and that run's subject and repository. Null if it belongs to none.
   */
  readonly runId: string | null
  readonly subjectId: string | null
  readonly repositoryId: string | null
  /** The pull request or issue. */
  readonly thread: number | null
  readonly sha: string | null
  /** The address of the person or program that a message is for. */
  readonly address: string | null
  /** The key in its marker. Every store computes the same key for the same output. */
  readonly markerKey: string
  readonly round: number
  /** The version: (claim fence, sequence). */
  readonly versionFence: number
  readonly versionSeq: number
  /** The audit row that made this version, or reopened it; null from older versions of Holdfast. */
  readonly causeId: number | null
  /** JSON; its form is the channel's. */
  readonly content: string
  /** Nothing of this round follows it. */
  readonly final: boolean
  /** It shows work in progress, so it must be closed when the run ends. */
  readonly announces: boolean
  readonly status: DeliveryStatus
  /** Why it FAILED or was SKIPPED. */
  readonly reason: string | null
  /** While PENDING: what it waits for. */
  readonly wait: Exclude<DeliveryWait, 'leased'> | null
  /** Which of all due deliveries goes first (`priorities` in queue.ts). */
  readonly priority: number
  /** The queue that it waits in until its identity may write again (queue.ts). */
  readonly queue: string | null
  /**
   * Its place in the queue: when the first of the versions that wait was wanted. Null: none waits.
   */
  readonly waitsSince: number | null
  /**
   * A further message's turn in the queue (`turnOf` in queue.ts). It counts before `waitsSince`.
   */
  readonly turn: number | null
  /** Its place in its run's line (message-line.ts); null if it is not in the line. */
  readonly line: number | null
  /** When there is next something to do; null when never. */
  readonly dueAt: number | null
  readonly leaseId: string | null
  readonly leasedUntil: number | null
  /** The attempt that has no outcome yet. */
  readonly attemptId: string | null
  /** How often sending it or looking for it has failed. Decides the backoff. */
  readonly tries: number
  readonly deadlineAt: number
  /** The fence of the claim that this target was last written for, as far as we know. */
  readonly announcedFence: number | null
  readonly sentFence: number | null
  readonly sentSeq: number | null
  readonly sentHash: string | null
  readonly sentAt: number | null
  /** When this claim was first shown. The longer ago, the more rarely its progress is sent. */
  readonly shownSince: number | null
  /** The other side's id of the output. */
  readonly providerId: string | null
  readonly providerUrl: string | null
  /** How many versions were replaced before they were sent, since the last one that was sent. */
  readonly coalesced: number
  readonly protocol: ProtocolState
  readonly errorCode: string | null
  readonly errorText: string | null
  readonly createdAt: number
  /** When its newest version was wanted. */
  readonly changedAt: number
  readonly closedAt: number | null
}

/** What the publish protocol remembers between two steps. No query searches by these values. */
export interface ProtocolState {
  /** An attempt ended without an answer. */
  readonly doubt?: Doubt
  /**
   * The last doubt, if a look did not find the output. If the next send is postponed, it becomes
   * `doubt` again.
   */
  readonly sought?: EndedDoubt
  /** It is a further message and waits for a look. After the look it waits as a further message. */
  readonly further?: true
  /** GitHub says that the output is gone. `looks`: how many looks did not find it since then. */
  readonly lost?: { readonly looks: number }
  /** A request may still arrive late, so equal content does not prove what GitHub shows. */
  readonly unsettled?: true
  /** The next read of an unsettled target. */
  readonly settle?: PlannedRead
  /**
   * How often it was written again while it settled. Limited, because somebody else may keep
   * changing it.
   */
  readonly rewrites?: number
  /** The next look for a second copy. */
  readonly scan?: PlannedRead
  /** Ids of copies to remove after the kept output is up to date. */
  readonly surplus?: readonly string[]
  /** What to check after a restore. Removed once the target was read. */
  readonly restored?: RestoreCheck
  /** We looked for an output of ours before the first create. */
  readonly looked?: true
  /** The claim under which it was recreated. It is not recreated twice under one claim. */
  readonly recreatedFence?: number
  /** The id of the removed output that it was recreated for. */
  readonly recreatedFrom?: string
  /** The claim under which a person removed it a second time. It is shown no more. */
  readonly removedFence?: number
  /** How many writes the target has had, on a channel that limits them. */
  readonly writes?: number
  /** The target was given back: the claim of the run that is shown again. */
  readonly givenBack?: number
  /**
   * Outputs of other runs at this target, in case it is given back to one (give-back.ts). Stored
   * rows use this name.
   */
  readonly saidThere?: readonly KeptOutput[]
  /** How many sends did not succeed. Looks are not counted. */
  readonly failedSends?: number
  /** How often the other side refused it without a reason. */
  readonly unclear?: number
  /** How often preparing it failed, or the process that prepared it was lost. */
  readonly preparations?: number
  /** GitHub shows work in progress there, or may show it. It must be closed. */
  readonly showsWork?: true
}

export interface RestoreCheck {
  /** Marker keys of later rounds, which may have begun after the copy was made. */
  readonly laterKeys: readonly string[]
}

export interface Doubt {
  readonly action: AttemptAction
  /** When the oldest attempt in doubt began, by the store's clock. */
  readonly since: number
  readonly looks: number
}

export interface EndedDoubt extends Doubt {
  /** The look was made because its turn in its identity's queue had come. */
  readonly isTurn?: true
}

export interface PlannedRead {
  readonly step: number
  readonly at: number
}

export type AttemptAction = 'create' | 'edit' | 'remove'

export const attemptOutcomes = [
  'sent',
  'retry',
  'permanent',
  'rate_limited',
  'in_doubt',
  'not_sent',
] as const
export type AttemptOutcome = (typeof attemptOutcomes)[number]

/** One try to send, stored before the request leaves. So it is known after a crash. */
export interface DeliveryAttempt {
  readonly id: string
  readonly deliveryId: string
  readonly action: AttemptAction
  readonly versionFence: number
  readonly versionSeq: number
  readonly startedAt: number
  /** Null while it has no outcome. */
  readonly endedAt: number | null
  readonly outcome: AttemptOutcome | null
  /** Its outcome came after another process had taken the delivery over. */
  readonly late: boolean
  readonly errorCode: string | null
  readonly errorText: string | null
  readonly httpStatus: number | null
  /** Our id of the request, which was sent with it. */
  readonly requestId: string | null
  /** GitHub's id of the request. */
  readonly githubRequestId: string | null
  readonly providerId: string | null
}

export function isOpen(delivery: Pick<Delivery, 'status'>): boolean {
  return delivery.status === 'PENDING'
}

export function isLeased(delivery: Pick<Delivery, 'leasedUntil'>, now: number): boolean {
  return delivery.leasedUntil !== null && delivery.leasedUntil > now
}

/** What it waits for, as people and filters see it; null when it is closed. */
export function waitOf(
  delivery: Pick<Delivery, 'status' | 'leasedUntil' | 'wait' | 'dueAt' | 'queue'>,
  now: number,
): DeliveryWait | null {
  if (!isOpen(delivery)) return null
  if (isLeased(delivery, now)) return 'leased'
  const { wait, dueAt, queue } = delivery
  const waited = wait === 'backoff' || (wait === 'budget' && queue === null)
  return waited && dueAt !== null && dueAt <= now ? 'due' : (wait ?? 'due')
}

export function isNewer(
  left: { readonly versionFence: number; readonly versionSeq: number },
  right: { readonly versionFence: number; readonly versionSeq: number },
): boolean {
  if (left.versionFence !== right.versionFence) return left.versionFence > right.versionFence
  return left.versionSeq > right.versionSeq
}
