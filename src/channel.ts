/**
 * Port: one way out. A channel knows how one kind of thing is written, looked at and removed. It
 * stores nothing, repeats nothing and does not decide when to send. The outbox does that
 * (src/outbox), by what the channel declares.
 *
 * What must hold: every method makes only the requests that it describes. It throws the
 * connection's own errors, and the outbox decides what they mean.
 */
import type { ChannelDeclaration } from './domain/outbox/channel-declaration.ts'
import type { FoundOutput } from './domain/outbox/outcome.ts'

/** Where something is published: the part of a delivery that a channel needs. */
export interface Target {
  readonly deliveryId: string
  /** `owner/name` as last known, for people. Null if it is about no repository. */
  readonly repo: string | null
  /** Requests go to the repository with this id, and markers are signed over it. */
  readonly repoGithubId: number | null
  /** Our own ids of the repository, present and former. Older markers are signed over one. */
  readonly ownRepositoryIds: readonly string[]
  readonly thread: number | null
  readonly sha: string | null
  /** The address of a person or a program. */
  readonly address: string | null
  readonly name: string
  readonly markerKey: string
  /** Marker keys of what may be there instead, for example after a restore. */
  readonly laterKeys: readonly string[]
  /** The other side's id of what we last published there. */
  readonly providerId: string | null
}

/** The part of a target that decides which identity we act as. */
export type ActingPlace = Pick<Target, 'repo' | 'repoGithubId' | 'address'>

/** `until`: the identity is blocked, so nothing is asked before then. */
export type Entry = { readonly identity: string } | { readonly until: number }

/** `not_now`: the other side did not answer whether it accepts us. Null: not blocked. */
export type IdentityBlock = { readonly until: number } | 'not_now' | null

/**
 * Whether the other side accepts us, and which identity we act as. Only a channel that has to ask
 * for it has an admission; the others declare their identity.
 */
export interface Admission {
  /** The account that we act for there. It is known without asking the other side. */
  accountOf(place: ActingPlace): string
  /** The last known identity for that account; null if this process has not asked yet. */
  lastIdentityOf(account: string): string | null
  /** Rejects if it cannot be found out now. */
  enter(place: ActingPlace): Promise<Entry>
  /** Whether an error of a later call means that its identity is blocked. */
  blockAfter(error: unknown, place: ActingPlace, identity: string): Promise<IdentityBlock>
}

/**
 * A time on the monotonic clock. It is checked right before each request: after this time, the
 * request is not sent, because the lease may end before the answer comes.
 */
export type SendBy = number

/**
 * Content as it will be sent. Equal contents have the same `hash`; only the channel reads `body`.
 */
export interface Prepared {
  readonly hash: string
  readonly body: Readonly<Record<string, unknown>>
}

export interface Written {
  readonly providerId: string
  readonly url: string | null
}

export type { FoundOutput } from './domain/outbox/outcome.ts'

export interface LookResult {
  /** Our outputs, the one to keep first. If copies cannot be removed, only the one that counts. */
  readonly found: readonly FoundOutput[]
  /** One by our account names this delivery, but none of our keys verifies its marker. */
  readonly unverified: boolean
}

/**
 * Whether something on GitHub is this delivery's: `ours`, or why not.
 * - `absent`: it does not exist.
 * - `foreign`: somebody else made it.
 * - `elsewhere`: it is not on this thread or commit.
 * - `another`: it belongs to another delivery.
 * - `unmarked`: our account made it, but nothing proves that it is this delivery's.
 */
export type Ownership = 'ours' | 'absent' | 'foreign' | 'elsewhere' | 'another' | 'unmarked'

/** Somebody says that this target was published under this id. */
export interface OwnershipClaim<T extends Target = Target> {
  readonly target: T
  readonly providerId: string
  /** The stored content. */
  readonly content: unknown
}

export interface LookRequest<T extends Target = Target> {
  readonly target: T
  readonly prepared: Prepared
  /** Only what is newer than this time of our clock can be it. Null: look at everything. */
  readonly since: number | null
  /** The store was restored, so another one may have replaced the one that it knows. */
  readonly mayBeAnother?: boolean
}

export interface Channel<T extends Target = Target> {
  /** All that the store and the publisher know about the channel. */
  readonly declaration: ChannelDeclaration
  /** Only if its identity is not declared. */
  readonly admission?: Admission
  /** Throws InvalidInputError `invalid_content` for content that can never be sent. */
  prepare(target: T, content: unknown): Promise<Prepared>
  /** Creates it, or edits `providerId` if there is one. */
  write(target: T, prepared: Prepared, sendBy: SendBy): Promise<Written>
  /**
   * Finds our outputs: by id if one is known and `since` is null, otherwise in the list. A channel
   * without this method must declare what happens to a delivery in doubt (`inDoubt`).
   */
  look?(request: LookRequest<T>, sendBy: SendBy): Promise<LookResult>
  /** Whether we can see the thread or commit. If so, a refusal means a missing permission. */
  placeIsThere?(target: T, sendBy: SendBy): Promise<boolean>
  /** Whether it is this target's. */
  ownershipOf?(claim: OwnershipClaim<T>, sendBy: SendBy): Promise<Ownership>
  /** Removes a copy of ours, if it still exists. Only if copies can occur and be removed. */
  remove?(target: T, providerId: string, sendBy: SendBy): Promise<void>
}
