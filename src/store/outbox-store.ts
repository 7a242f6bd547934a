/**
 * Port: the outbox's part of the store. What a run wants shown is written by the run verbs
 * themselves, in their own transactions; these are for whoever publishes it, and for operators.
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
  /** When things are tried and looked at again; a publisher goes by the same ones. */
  readonly rules: PublishingRules
  /** Takes what is due, creates and ends first; each is this holder's for one delivery lease. */
  lease(room: LeaseRoom): Promise<readonly LeasedDelivery[]>
  /** Stores the attempt and takes its write from the budget, before the request may leave. */
  beginAttempt(request: BeginRequest): Promise<BeginAnswer>
  /** Late ones are kept on the attempt and change nothing else. */
  endAttempt(hold: DeliveryLease, report: AttemptReport): Promise<'recorded' | 'late'>
  /** What a step without an attempt found. Of somebody who lost the lease it changes nothing. */
  record(hold: DeliveryLease, finding: Finding): Promise<'recorded' | 'lost'>
  /** Around a preparation that a holder did not come back from and that is tried once more. */
  notePreparation(hold: DeliveryLease, when: 'begins' | 'ended'): Promise<'recorded' | 'lost'>
  /** After a restart of the only process that can have held one: no lease is left to wait for. */
  takeOverLeases(): Promise<number>
  /** When there is next something to do, or null. Never grows with history. */
  nextDueAt(): Promise<number | null>

  /** GitHub said "not now" to this identity, to a read or a write of that asker. */
  blockIdentity(identity: string, until: number, reason: string, actor: Asker): Promise<void>
  /** GitHub does not let us in: blocks the identity with growing waits; answers until when. */
  refuseIdentity(identity: string, reason: string): Promise<number>
  /** An operator lifts a block. */
  unblock(identity: string, actor: string, idempotencyKey: IdempotencyKey | null): Promise<Budget>
  budgets(): Promise<readonly Budget[]>
  /** Null when nothing keeps it from asking. */
  blockedUntil(identity: string): Promise<number | null>

  /** Something of a run's own, once per name and round. */
  publish(request: PublishRequest, idempotencyKey: IdempotencyKey | null): Promise<PublishAnswer>

  /** A message that is no run's, once per channel, address and key. */
  send(request: MessageRequest): Promise<PublishAnswer>

  delivery(id: string): Promise<Delivery | null>
  /** The message of the same run that has to be sent before it; null when there is none. */
  messageBefore(delivery: Pick<Delivery, 'runId' | 'line'>): Promise<Delivery | null>
  placed(id: string): Promise<PlacedDelivery | null>
  attemptsOf(deliveryId: string): Promise<readonly DeliveryAttempt[]>
  list(filter: DeliveryFilter, page: Page): Promise<Paged<Delivery>>
  /** GitHub's id and address of the runs' anchor comments, by run id. */
  anchorsOf(runs: readonly AnchorOf[]): Promise<ReadonlyMap<string, AnchorPlace>>
  /** What is open, bounded, however much there is. */
  backlog(): Promise<OutboxBacklog>

  retry(id: string, actor: string, idempotencyKey: IdempotencyKey | null): Promise<Delivery>
  /** Answers how many were reopened. */
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
  /** Whoever gives an id has checked on GitHub that it is this delivery's (outbox/is-ours). */
  confirm(
    id: string,
    providerId: string | null,
    actor: string,
    idempotencyKey: IdempotencyKey | null,
  ): Promise<Delivery>

  /** Makes the first key when there is none. The first of them signs, all of them verify. */
  markerKeys(): Promise<readonly MarkerKey[]>
  /** Adds a key, which signs from now on. Answers all. */
  rotateMarkerKey(actor: string): Promise<readonly MarkerKey[]>
  /** The same as `markerKeys`, and the audit says that they were taken out. */
  exportMarkerKeys(actor: string): Promise<readonly MarkerKey[]>
  /**
   * Adds those that are missing; refuses all where one differs from a known one of its id. What is
   * held because no key verified its marker is looked at again.
   */
  importMarkerKeys(keys: readonly MarkerKey[], actor: string): Promise<ImportedKeys>
  /** Every account this store has published as. */
  authors(): Promise<readonly Author[]>
  learnAuthor(author: Author): Promise<void>
  /** Threads from before this moment may carry something of ours that this store does not know. */
  knowsSince(): Promise<number>
  /**
   * A copy was put in this store's place: what is open may have been sent since it was made. Noted
   * in bites of one transaction each. Who dies in between leaves the rest to the next one, or to
   * whoever wants to lease: nothing is published before all is noted. Answers what follows.
   */
  noteRestore(): Promise<RestoreNote>
  /** What follows from the last restore that was noted; null when there was none. */
  restoreNote(): Promise<RestoreNote | null>
  /**
   * For the reconciler: ended runs whose announcement was left open. Repairs up to `limit`, and
   * leaves what they published themselves to `closeRest`.
   */
  closeForgotten(limit: number): Promise<number>
  /**
   * For the reconciler: closes the next few outputs of a run that ended with more of them than one
   * transaction closes. False when there is none left.
   */
  closeRest(): Promise<boolean>
}

export interface RestoreNote {
  readonly restoredAt: number
  /** When the copy was made, as far as it knows. */
  readonly copiedAt: number
  /** Open deliveries: each is looked for on GitHub before it is sent. */
  readonly open: number
  /** Targets that were shown lately: each is read once more. */
  readonly shown: number
  /** When the last of those is read, if a server runs and nothing delays it. */
  readonly lastReadAt: number
  /** When the first server started on it; null while none has. */
  readonly servedAt: number | null
}

/** Which part of this program asked GitHub. */
export type Asker = 'publisher' | 'intake' | 'catch-up'

export interface LeaseRoom {
  readonly limit: number
  /** At most so many of them may be progress: they must not keep the others waiting. */
  readonly progressMax: number
  /** At most so many of them from the queues; as many as `limit` when not given. */
  readonly queuedMax?: number
  /** Reads that repair, on top of `limit`; as many again when not given. */
  readonly repairsMax?: number
  /** At most so many of those that have to ask first as whom we act; `limit` when not given. */
  readonly entriesMax?: number
  /** At most so many of the repairs from their queues; as many as there may be when not given. */
  readonly repairsQueuedMax?: number
  /** Identities and queues of which nothing is taken now. */
  readonly full?: readonly string[]
  /** Of the accounts' queues: which had its turn last. */
  readonly lastServed?: { readonly entry: string; readonly repair: string }
}

export interface LeasedDelivery extends PlacedDelivery {
  readonly lease: DeliveryLease
  /** Whoever had it before never came back, and had not begun to send it. */
  readonly wasLost: boolean
  /** The queue it stood in until its turn came; null when it stood in none. */
  readonly fromQueue: string | null
}

/** With what is known of its place. */
export interface PlacedDelivery {
  readonly delivery: Delivery
  /** As last heard; null where it is about none. */
  readonly repo: string | null
  /** Null until it is learnt, which has to be before anything is written there. */
  readonly repoGithubId: number | null
  /** The name its run was claimed under, while only a caller has said that it has this id. */
  readonly unverifiedName: string | null
  /** Our own ids of the repository: the present one, and those that were merged into it. */
  readonly ownRepositoryIds: readonly string[]
  /** When the thread was opened; null when nobody has said. */
  readonly threadCreatedAt: number | null
}

export interface DeliveryLease {
  readonly deliveryId: string
  readonly leaseId: string
  /** The version it was taken with: what is found out says nothing about a later one. */
  readonly versionFence: number
  readonly versionSeq: number
}

export interface BeginRequest {
  readonly lease: DeliveryLease
  readonly action: AttemptAction
  /** The version that is about to be sent; another one by now makes it `changed`. */
  readonly versionFence: number
  readonly versionSeq: number
  /** What a removal removes. */
  readonly providerId: string | null
  readonly identity: string
  readonly limits: BudgetLimits
  /** It comes from the head of its queue; else it goes behind those who wait there. */
  readonly isTurn: boolean
}

export type BeginAnswer =
  | { readonly result: 'begun'; readonly attempt: DeliveryAttempt }
  /** Nothing was taken and the delivery still is ours: ask again, or give it back. */
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
  /** Null for an operator or admin, who speaks for the run without holding it. */
  readonly leaseHash: string | null
  readonly actor: string
  readonly name: string
  readonly channel: string
  /** In the channel's stored form. */
  readonly content: Readonly<Record<string, unknown>>
  /** What runs of a type may publish: the configuration of whoever serves the request. */
  readonly rightsOf: (type: string) => PublishRights
}

/** A message that is no run's, to an address. */
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

/** Only what FAILED is retried in bulk, or what is named. */
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

export interface OutboxBacklog {
  readonly open: Readonly<Record<DeliveryWait, number>>
  /** When the oldest open version was wanted. */
  readonly oldestAt: number | null
  /** Oldest first, a few of them. */
  readonly oldest: readonly LingeringDelivery[]
  readonly failed: number
  readonly oldestFailed: readonly LingeringDelivery[]
  /** What GitHub may still show as running although its run ended: oldest first, a few of them. */
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
  /** Ids of those that were missing. */
  readonly added: readonly string[]
  readonly known: readonly string[]
}

export interface Author {
  readonly kind: 'user' | 'app'
  readonly githubId: number
}
