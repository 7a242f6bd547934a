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
 * version its attempt carried; whoever lost the lease changes nothing (its outcome is kept as
 * `late`, and the target counts as unsettled).
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
  /** By name: a newer program on this store may have channels that this one has not. */
  readonly channel: string
  /** What it is about; unique. */
  readonly target: string
  /** `anchor`, `status`, `check`, or the name a run gave its own output. */
  readonly name: string
  /** The run that speaks, its subject and its repository; null where nothing of it is a run's. */
  readonly runId: string | null
  readonly subjectId: string | null
  readonly repositoryId: string | null
  /** The pull request or issue. */
  readonly thread: number | null
  readonly sha: string | null
  /** Where a message goes that is for a person or a program. */
  readonly address: string | null
  /** What a marker names: the same for the same thing, whichever store computes it. */
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
  /** It shows work under way: the end of the run has to close it. */
  readonly announces: boolean
  readonly status: DeliveryStatus
  /** Why it FAILED or was SKIPPED. */
  readonly reason: string | null
  /** While PENDING: what it waits for. */
  readonly wait: Exclude<DeliveryWait, 'leased'> | null
  /** Which of all that is due goes first (priority). */
  readonly priority: number
  /** In which queue it stands until its identity may write again (domain/outbox/queue). */
  readonly queue: string | null
  /** Its place there: when the first version was wanted that has waited since. Null: none has. */
  readonly waitsSince: number | null
  /** What a run publishes behind its own goes in turns, before its place (queue `turnOf`). */
  readonly turn: number | null
  /** Its place among the messages of its run, while later ones wait for it (message-line). */
  readonly line: number | null
  /** When there is next something to do; null when never. */
  readonly dueAt: number | null
  readonly leaseId: string | null
  readonly leasedUntil: number | null
  /** The attempt under way, whose outcome is not known yet. */
  readonly attemptId: string | null
  /** Attempts of this version that came to nothing. */
  readonly tries: number
  readonly deadlineAt: number
  /** The claim under which this target was last written, as far as we know. */
  readonly announcedFence: number | null
  readonly sentFence: number | null
  readonly sentSeq: number | null
  readonly sentHash: string | null
  readonly sentAt: number | null
  /** When this claim was first shown: the older, the rarer its progress is. */
  readonly shownSince: number | null
  /** The other side's id of it. */
  readonly providerId: string | null
  readonly providerUrl: string | null
  /** Versions that were replaced before they were sent, since the last one that was. */
  readonly coalesced: number
  readonly protocol: ProtocolState
  readonly errorCode: string | null
  readonly errorText: string | null
  readonly createdAt: number
  /** When its newest version was wanted. */
  readonly changedAt: number
  readonly closedAt: number | null
}

/** What the publish protocol remembers between two steps. Nothing is ever looked up by it. */
export interface ProtocolState {
  /** An attempt ended without an answer. */
  readonly doubt?: Doubt
  /** A doubt that was looked for and not found; doubted again if the next send is put off. */
  readonly sought?: EndedDoubt
  /** While it is looked at: it is a further message of its run, and will wait as one again. */
  readonly further?: true
  /** What we edit is said to be gone; how often we have seen it since. */
  readonly lost?: { readonly looks: number }
  /** Something may still arrive late: an equal content is not proof enough. */
  readonly unsettled?: true
  readonly settle?: PlannedRead
  /** How often it was put right while it settled: somebody else may insist on their own. */
  readonly rewrites?: number
  /** To look for a second one. */
  readonly scan?: PlannedRead
  /** Copies to remove once the kept one is up to date. */
  readonly surplus?: readonly string[]
  /** Only what a restored store has to find out; gone once it was read. */
  readonly restored?: RestoreCheck
  /** We looked whether it was there before the first create. */
  readonly looked?: true
  /** It was made anew under this claim; a second time nobody wants it. */
  readonly recreatedFence?: number
  readonly recreatedFrom?: string
  readonly removedFence?: number
  /** How often it was written, where the other side takes so many and no more. */
  readonly writes?: number
  /** The claim whose run is shown again, because its successor showed nothing. */
  readonly givenBack?: number
  /** What other runs said here before it was taken from them. */
  readonly saidThere?: readonly KeptOutput[]
  /** How often it was sent to no avail, looks not counted. */
  readonly failedSends?: number
  /** How often it was refused without a reason. */
  readonly unclear?: number
  /** How often it could not be prepared, or whoever prepared it did not come back. */
  readonly preparations?: number
  /** What stands there, or may, says that work is under way: somebody has to close it. */
  readonly showsWork?: true
}

export interface RestoreCheck {
  /** Keys of later rounds, which may have been begun after the copy was made. */
  readonly laterKeys: readonly string[]
}

export interface Doubt {
  readonly action: AttemptAction
  /** When the oldest attempt in doubt began, by the store's clock. */
  readonly since: number
  readonly looks: number
}

export interface EndedDoubt extends Doubt {
  /** It was looked for because it was its turn in the queue of its identity. */
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

/** One try, stored before the request leaves: a crash leaves evidence. */
export interface DeliveryAttempt {
  readonly id: string
  readonly deliveryId: string
  readonly action: AttemptAction
  readonly versionFence: number
  readonly versionSeq: number
  readonly startedAt: number
  /** Null while its outcome is not known. */
  readonly endedAt: number | null
  readonly outcome: AttemptOutcome | null
  /** Its outcome came after somebody else had taken over. */
  readonly late: boolean
  readonly errorCode: string | null
  readonly errorText: string | null
  readonly httpStatus: number | null
  /** Ours, sent along; and GitHub's. */
  readonly requestId: string | null
  readonly githubRequestId: string | null
  readonly providerId: string | null
}

export function isOpen(delivery: Pick<Delivery, 'status'>): boolean {
  return delivery.status === 'PENDING'
}

export function isLeased(delivery: Pick<Delivery, 'leasedUntil'>, now: number): boolean {
  return delivery.leasedUntil !== null && delivery.leasedUntil > now
}

/** As people and filters see it; null when it is closed. */
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
