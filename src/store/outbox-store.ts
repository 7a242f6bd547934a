/**
 * Port: the outbox's part of the store. The run verbs write what a run wants to show, in their own
 * transactions. The verbs here are for publishers and operators.
 *
 * As with every verb of the store: one transaction with its audit rows.
 */
import type {
  DeliveryAttempt,
  AttemptAction,
  Delivery,
  DeliveryStatus,
  DeliveryWait,
} from '../domain/outbox/delivery.ts'
import type { Budget, BudgetLimits, BudgetWait } from '../domain/outbox/budget.ts'
import type { AttemptEnd, Finding } from '../domain/outbox/outcome.ts'
import type { PublishingRules } from '../domain/outbox/schedule.ts'
import type { PublishRights } from '../domain/outbox/publish-rights.ts'
import type { TokenLimits } from '../domain/token-limits.ts'
import type { IdempotencyKey } from './idempotency-key.ts'
import type { Page, Paged } from './page.ts'

export interface OutboxStore {
  /** When deliveries are tried and looked at again. Publishers use the same rules. */
  readonly rules: PublishingRules
  /** Leases due deliveries to this publisher, creates and final versions first. */
  lease(room: LeaseRoom): Promise<readonly LeasedDelivery[]>
  /** Stores the attempt and takes its write from the budget, before the request may leave. */
  beginAttempt(request: BeginRequest): Promise<BeginAnswer>
  /**
   * `failed`: recorded, and the delivery has now failed. A late report is kept with the attempt and
   * changes nothing else.
   */
  endAttempt(lease: DeliveryLease, report: AttemptReport): Promise<'recorded' | 'failed' | 'late'>
  /**
   * Stores what a step without an attempt found. `failed`: recorded, and the delivery has now
   * failed. If the lease was lost, it changes nothing.
   */
  record(lease: DeliveryLease, finding: Finding): Promise<'recorded' | 'failed' | 'lost'>
  /**
   * Counts a preparation before and after it, because an earlier holder was lost while preparing.
   */
  notePreparation(lease: DeliveryLease, when: 'begins' | 'ended'): Promise<'recorded' | 'lost'>
  /** Ends all leases. Only for the one process that uses the store, after its restart. */
  takeOverLeases(): Promise<number>
  /**
   * When the next delivery is due, or null. Its cost does not grow with history. With `runId`: the
   * next one of this run.
   */
  nextDueAt(runId?: string): Promise<number | null>

  /** GitHub set a limit for this identity, in answer to a read or write of `actor`. */
  blockIdentity(identity: string, until: number, reason: string, actor: Asker): Promise<void>
  /** GitHub refuses us. Blocks the identity with growing waits, and returns until when. */
  refuseIdentity(identity: string, reason: string): Promise<number>
  /** An operator lifts a block. */
  unblock(identity: string, actor: string, idempotencyKey: IdempotencyKey | null): Promise<Budget>
  budgets(): Promise<readonly Budget[]>
  /** Null if the identity is not blocked. */
  blockedUntil(identity: string): Promise<number | null>

  /** Publishes an output of a run, once per name and round. */
  publish(request: PublishRequest, idempotencyKey: IdempotencyKey | null): Promise<PublishAnswer>

  /** Sends a message without a run, once per channel, address and key. */
  send(request: MessageRequest): Promise<PublishAnswer>

  delivery(id: string): Promise<Delivery | null>
  /** The message before it in its run's line; null when there is none. */
  messageBefore(delivery: Pick<Delivery, 'runId' | 'line'>): Promise<Delivery | null>
  deliveryWithPlace(id: string): Promise<PlacedDelivery | null>
  attemptsOf(deliveryId: string): Promise<readonly DeliveryAttempt[]>
  list(filter: DeliveryFilter, page: Page): Promise<Paged<Delivery>>
  /** GitHub's id and address of the runs' anchor comments, by run id. */
  anchorsOf(runs: readonly AnchorOf[]): Promise<ReadonlyMap<string, AnchorPlace>>
  /** A summary of what is open. Its cost is bounded. */
  backlog(): Promise<OutboxBacklog>

  retry(id: string, actor: string, idempotencyKey: IdempotencyKey | null): Promise<Delivery>
  /** Returns how many were reopened. */
  retryMany(
    filter: RetryFilter,
    actor: string,
    idempotencyKey: IdempotencyKey | null,
  ): Promise<number>
  skip(
    id: string,
    reason: string,
    actor: string,
    idempotencyKey: IdempotencyKey | null,
  ): Promise<Delivery>
  /** The caller must have checked on GitHub that the id is this delivery's (outbox/is-ours). */
  confirm(
    id: string,
    providerId: string | null,
    actor: string,
    idempotencyKey: IdempotencyKey | null,
  ): Promise<Delivery>

  /** Creates the first key if there is none. The first key signs, all of them verify. */
  markerKeys(): Promise<readonly MarkerKey[]>
  /** Adds a key, which signs from now on. Returns all keys. */
  rotateMarkerKey(actor: string): Promise<readonly MarkerKey[]>
  /** The same as `markerKeys`, with an audit row about the export. */
  exportMarkerKeys(actor: string): Promise<readonly MarkerKey[]>
  /**
   * Adds the keys that are missing. If one differs from a known key with the same id, all are
   * refused. Deliveries that are held because no key verified their marker are looked at again.
   */
  importMarkerKeys(keys: readonly MarkerKey[], actor: string): Promise<ImportedKeys>
  /** Every account that this store has published as. */
  authors(): Promise<readonly Author[]>
  learnAuthor(author: Author): Promise<void>
  /** A thread that is older than this may have an output of ours that this store does not know. */
  knowsSince(): Promise<number>
  /**
   * A copy of this store was restored, so an open delivery may have been sent after the copy was
   * made. That is noted in batches of one transaction each. If a process dies in between, the next
   * one continues: a process that notes a restore, or one that leases. Nothing is published before
   * everything is noted. Returns what follows.
   */
  noteRestore(): Promise<RestoreNote>
  /** What follows from the last restore that was noted; null when there was none. */
  restoreNote(): Promise<RestoreNote | null>
  /**
   * For the reconciler: closes the announcements that up to `limit` ended runs left in progress.
   * What those runs published themselves is left to `closeRemaining`.
   */
  closeForgotten(limit: number): Promise<number>
  /**
   * For the reconciler: closes the next few outputs of a run that ended with more of them than one
   * transaction closes. False when there is none left.
   */
  closeRemaining(): Promise<boolean>
}

export interface RestoreNote {
  readonly restoredAt: number
  /** When the copy was made, as far as the copy knows. */
  readonly copiedAt: number
  /** How many deliveries were open. Each is looked for on GitHub before it is sent. */
  readonly open: number
  /** How many targets were shown recently. Each is read once more. */
  readonly shown: number
  /** When the last of them is read, if a server runs and nothing delays it. */
  readonly lastReadAt: number
  /** When the first server started after the restore; null while none has. */
  readonly servedAt: number | null
}

/** Which part of this program asked GitHub. */
export type Asker = 'publisher' | 'intake' | 'catch-up' | 'runs'

export interface LeaseRoom {
  readonly limit: number
  /** The maximum of progress among them, because progress must not delay the others. */
  readonly progressMax: number
  /** The maximum from the queues. Default: `limit`. */
  readonly queuedMax?: number
  /** The maximum of reads that repair, in addition to `limit`. Default: `limit`. */
  readonly repairsMax?: number
  /** The maximum of deliveries that must first ask for our identity. Default: `limit`. */
  readonly entriesMax?: number
  /** The maximum of repairs from their queues. Default: `repairsMax`. */
  readonly repairsQueuedMax?: number
  /** Identities and queues from which nothing is taken now. */
  readonly full?: readonly string[]
  /** The account queues that were served last. */
  readonly lastServed?: { readonly entry: string; readonly repair: string }
  /**
   * Only deliveries of this run, for a process that publishes for itself because no server is
   * active. They do not wait behind other runs in a queue, because nobody serves those now.
   */
  readonly runId?: string
}

export interface LeasedDelivery extends PlacedDelivery {
  readonly lease: DeliveryLease
  /** The last holder was lost before it began to send. */
  readonly wasLost: boolean
  /** The queue that it was taken from; null if it was in none. */
  readonly fromQueue: string | null
}

/** A delivery with what is known about its place. */
export interface PlacedDelivery {
  readonly delivery: Delivery
  /** The last known name; null if it is about no repository. */
  readonly repo: string | null
  /** Null until it is learnt. It must be learnt before anything is written there. */
  readonly repoGithubId: number | null
  /**
   * The name that its run was claimed under, while only a caller says that the name has this id.
   */
  readonly unverifiedName: string | null
  /** Our own ids of the repository: the present one, and those that were merged into it. */
  readonly ownRepositoryIds: readonly string[]
  /** When the thread was opened; null if unknown. */
  readonly threadCreatedAt: number | null
}

export interface DeliveryLease {
  readonly deliveryId: string
  readonly leaseId: string
  /** The version at the time of the lease. A finding says nothing about a later version. */
  readonly versionFence: number
  readonly versionSeq: number
}

export interface BeginRequest {
  readonly lease: DeliveryLease
  readonly action: AttemptAction
  /** The version to be sent. If there is another one by now, the answer is `changed`. */
  readonly versionFence: number
  readonly versionSeq: number
  /** For `remove`: the id of the copy. */
  readonly providerId: string | null
  readonly identity: string
  readonly limits: BudgetLimits
  /** It was the head of its queue. Otherwise it must wait behind those in the queue. */
  readonly isTurn: boolean
}

export type BeginAnswer =
  | { readonly result: 'begun'; readonly attempt: DeliveryAttempt }
  /** Nothing was taken, and we still hold the delivery: ask again, or give it back. */
  | { readonly result: 'budget'; readonly until: number; readonly why: BudgetWait }
  | { readonly result: 'changed' | 'lost' }

export interface AttemptReport {
  readonly attempt: DeliveryAttempt
  readonly end: AttemptEnd
  readonly identity: string
  readonly httpStatus: number | null
  readonly requestId: string | null
  readonly githubRequestId: string | null
}

export interface PublishRequest {
  readonly runId: string
  /** Null for an operator or admin, who publishes for the run without holding it. */
  readonly leaseHash: string | null
  readonly actor: string
  readonly name: string
  readonly channel: string
  /** In the channel's stored form. */
  readonly content: Readonly<Record<string, unknown>>
  /**
   * What runs of a type may publish, by the configuration of the process that serves the request.
   */
  readonly rightsOf: (type: string) => PublishRights
}

/** A message without a run, to an address. */
export interface MessageRequest {
  readonly channel: string
  readonly address: string
  /** The same in every repeat: a message is sent once per channel, address and key. */
  readonly key: string
  readonly content: Readonly<Record<string, unknown>>
}

export interface PublishAnswer {
  readonly delivery: Delivery
  readonly already: boolean
}

export interface DeliveryFilter {
  readonly status?: DeliveryStatus
  readonly wait?: DeliveryWait
  readonly channel?: string
  readonly runId?: string
  /** Only what this token reaches. */
  readonly within?: TokenLimits
}

/** Which deliveries are retried. Without a status: only those that FAILED. */
export interface RetryFilter {
  readonly status?: 'FAILED' | 'SKIPPED'
  readonly channel?: string
  readonly runId?: string
}

export interface AnchorOf {
  readonly id: string
  readonly subjectId: string
  readonly anchorPer: 'subject' | 'run' | null
}

export interface AnchorPlace {
  readonly commentId: string
  readonly url: string | null
}

/** The counts stop at `backlogCountMax` (domain/outbox/backlog-count.ts). */
export interface OutboxBacklog {
  readonly open: Readonly<Record<DeliveryWait, number>>
  /** When the oldest open version was wanted. */
  readonly oldestAt: number | null
  /** The first few, oldest first. */
  readonly oldest: readonly LingeringDelivery[]
  readonly failed: number
  readonly oldestFailed: readonly LingeringDelivery[]
  /** The first few that GitHub may still show as running although their run ended, oldest first. */
  readonly unreported: readonly LingeringDelivery[]
  readonly unreportedCount: number
}

export interface LingeringDelivery {
  readonly runId: string | null
  readonly deliveryId: string
  readonly channel: string
  readonly status: DeliveryStatus
  readonly wait: DeliveryWait | null
  readonly since: number
  readonly reason: string | null
}

export interface NewMarkerKey {
  readonly id: string
  readonly secret: string
}

export interface MarkerKey extends NewMarkerKey {
  readonly createdAt: number
}

export interface ImportedKeys {
  /** Ids of the keys that were missing. */
  readonly added: readonly string[]
  readonly known: readonly string[]
}

export interface Author {
  readonly kind: 'user' | 'app'
  readonly githubId: number
}
