/**
 * Port: one way out. A channel knows how one kind of thing is written, looked at and removed; it
 * keeps nothing, repeats nothing and decides nothing about when. The outbox does (src/outbox), by
 * what the channel declares of itself.
 *
 * What must hold: every method makes the requests it names and no other; what goes wrong is thrown
 * as the connection's own error and told apart by the outbox.
 */
import type { AnchorView } from './domain/outbox/anchor-view.ts'
import type { ChannelDeclaration } from './domain/outbox/channel-declaration.ts'
import type { FoundOutput } from './domain/outbox/outcome.ts'

/** Where and as what it is published: the delivery, without what is ours alone. */
export interface Target {
  readonly deliveryId: string
  /** `owner/name` as last heard: for people. Null where it is about no repository. */
  readonly repo: string | null
  /** What it is written to by, and what markers are signed over. */
  readonly repoGithubId: number | null
  /** Our own ids of the repository, present and former: older markers are signed over one. */
  readonly ownRepositoryIds: readonly string[]
  readonly thread: number | null
  readonly sha: string | null
  /** Of a person or a program. */
  readonly address: string | null
  readonly name: string
  readonly markerKey: string
  /** Keys of what may be there in its place, as after a restore. */
  readonly laterKeys: readonly string[]
  /** What was last recorded as ours there. */
  readonly providerId: string | null
}

/** As far as it says as whom we act there. */
export type ActingPlace = Pick<Target, 'repo' | 'repoGithubId' | 'address'>

/** `until`: nothing is asked under these credentials before then. */
export type Entry = { readonly identity: string } | { readonly until: number }

/** `not_now`: the other side could not say whether it knows us. Null: it does. */
export type ShutOut = { readonly until: number } | 'not_now' | null

/**
 * Whether the other side lets us in, and as whom. Only for a channel that has to ask; the others
 * declare their identity.
 */
export interface Admission {
  /** Whoever we act as there: known before the other side is asked anything. */
  accountOf(place: ActingPlace): string
  /** As whom we last acted for that account; null when this process has not asked yet. */
  lastIdentityOf(account: string): string | null
  /** Rejects when it cannot be found out now. */
  enter(place: ActingPlace): Promise<Entry>
  /** What an error of a later call, made under that identity, says about it. */
  shutOut(error: unknown, place: ActingPlace, identity: string): Promise<ShutOut>
}

/**
 * On the monotonic clock, looked at right before each request leaves: one that cannot leave by then
 * does not leave, because the lease it is made under may not outlast it.
 */
export type SendBy = number

/** Content as it will be sent: `hash` tells two of them apart, `body` is the channel's own. */
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
  /** Ours, the one to keep first. Where copies cannot be removed, only the one that counts. */
  readonly found: readonly FoundOutput[]
  /** By our author with this delivery's key, but no key of ours verifies it. */
  readonly unverified: boolean
}

/**
 * Whose something on GitHub is: `ours`, or why not. `absent`: it is not there. `foreign`: somebody
 * else made it. `elsewhere`: not on this thread or commit. `another`: it is another delivery's.
 * `unmarked`: our account made it, and nothing shows that it was for this delivery.
 */
export type Ownership = 'ours' | 'absent' | 'foreign' | 'elsewhere' | 'another' | 'unmarked'

/** What somebody says this target has published, under that id. */
export interface OwnershipClaim<T extends Target = Target> {
  readonly target: T
  readonly providerId: string
  /** As it is stored. */
  readonly content: unknown
}

export interface LookRequest<T extends Target = Target> {
  readonly target: T
  readonly prepared: Prepared
  /** Nothing older than this can be meant, by our clock; null: look at everything. */
  readonly since: number | null
  /** The store was restored: another one may have taken the place of the one it knows of. */
  readonly mayBeAnother?: boolean
}

export interface Channel<T extends Target = Target> {
  /** All that the store and the publisher know of it. */
  readonly declaration: ChannelDeclaration
  /** Where its identity is not declared. */
  readonly admission?: Admission
  /** Throws InvalidInputError `invalid_content` for what can never be sent. */
  prepare(target: T, content: unknown): Promise<Prepared>
  /** Creates it, or edits `providerId` where there is one. */
  write(target: T, prepared: Prepared, sendBy: SendBy): Promise<Written>
  /**
   * What of ours is there: by id where one is known and `since` is null, else by listing. Not there
   * where nobody can look, which its policy for what is in doubt has to say.
   */
  look?(request: LookRequest<T>, sendBy: SendBy): Promise<LookResult>
  /** Whether the thread or commit can be seen: tells a lost one from a lost permission. */
  placeIsThere?(target: T, sendBy: SendBy): Promise<boolean>
  /** Whether this target may take it for its own. */
  ownershipOf?(claim: OwnershipClaim<T>, sendBy: SendBy): Promise<Ownership>
  /** Removes a copy of ours; gone already is fine. Only where copies can be made and removed. */
  remove?(target: T, providerId: string, sendBy: SendBy): Promise<void>
}

/** The forms of content, as they are stored. */
export type CommentContent =
  | { readonly form: 'anchor'; readonly view: AnchorView }
  | { readonly form: 'text'; readonly body: string }

export interface StatusContent {
  readonly context: string
  readonly state: 'pending' | 'success' | 'failure' | 'error'
  readonly description: string
  readonly targetUrl: string | null
}

export interface CheckContent {
  readonly name: string
  readonly status: 'queued' | 'in_progress' | 'completed'
  readonly conclusion: CheckConclusion | null
  readonly title: string
  readonly summary: string
  readonly detailsUrl: string | null
  readonly startedAt: number | null
  readonly completedAt: number | null
}

export const checkConclusions = [
  'success',
  'failure',
  'neutral',
  'cancelled',
  'skipped',
  'timed_out',
  'action_required',
] as const
export type CheckConclusion = (typeof checkConclusions)[number]

export interface LabelContent {
  readonly label: string
  readonly present: boolean
}

export interface ReviewContent {
  readonly body: string
  readonly event: 'COMMENT' | 'APPROVE' | 'REQUEST_CHANGES'
  readonly commitSha: string | null
  readonly comments: readonly ReviewComment[]
}

export interface ReviewComment {
  readonly path: string
  readonly body: string
  readonly line: number
  readonly side: 'LEFT' | 'RIGHT' | null
  readonly startLine: number | null
}
