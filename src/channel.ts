/**
 * Port: one way out. A channel knows how one kind of thing is written, looked at and removed; it
 * keeps nothing, repeats nothing and decides nothing about when. The outbox does (src/outbox).
 *
 * What must hold: every method makes the requests it names and no other; what goes wrong is thrown
 * as the connection's own error and told apart by the outbox.
 */
import type { AnchorView } from './domain/outbox/anchor-view.ts'
import type { ChannelName, DeliveryKind } from './domain/outbox/delivery.ts'

/** Where and as what it is published: the delivery, without what is ours alone. */
export interface Target {
  readonly deliveryId: string
  /** `owner/name` as last heard: for people. */
  readonly repo: string
  /** What it is written to by, and what markers are signed over. */
  readonly repoGithubId: number
  /** Our own ids of the repository, present and former: older markers are signed over one. */
  readonly ownRepositoryIds: readonly string[]
  readonly thread: number | null
  readonly sha: string | null
  readonly name: string
  readonly markerKey: string
  /** Keys of what may stand there in its place, as after a restore. */
  readonly laterKeys: readonly string[]
  /** What was last recorded as ours there. */
  readonly providerId: string | null
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

/** One of ours that stands at the target. */
export interface FoundOutput {
  readonly providerId: string
  readonly url: string | null
  /** It shows what was prepared. */
  readonly current: boolean
  /** It says that work is under way; undefined where nobody can tell, as of a comment. */
  readonly atWork?: boolean
  /** As `Prepared` has it, of what it shows; undefined where nobody can tell. */
  readonly hash?: string
}

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
export interface OwnershipClaim {
  readonly target: Target
  readonly providerId: string
  /** As it is stored. */
  readonly content: unknown
}

export interface LookRequest {
  readonly target: Target
  readonly prepared: Prepared
  /** Nothing older than this can be meant, by our clock; null: look at everything. */
  readonly since: number | null
  /** The store was restored: another one may have taken the place of the one it knows of. */
  readonly mayBeAnother?: boolean
}

export interface Channel {
  readonly name: ChannelName
  readonly kind: DeliveryKind
  /** How often an unanswered create is looked for before it is sent again. */
  readonly looksBeforeResend: 1 | 2
  /** Throws InvalidInputError `invalid_content` for what can never be sent. */
  prepare(target: Target, content: unknown): Promise<Prepared>
  /** Creates it, or edits `providerId` where there is one. */
  write(target: Target, prepared: Prepared, sendBy: SendBy): Promise<Written>
  /** What of ours stands there: by id where one is known and `since` is null, else by listing. */
  look(request: LookRequest, sendBy: SendBy): Promise<LookResult>
  /** Whether the thread or commit can be seen: tells a lost one from a lost permission. */
  placeIsThere(target: Target, sendBy: SendBy): Promise<boolean>
  /** Whether this target may take it for its own. */
  ownershipOf(claim: OwnershipClaim, sendBy: SendBy): Promise<Ownership>
  /** Removes a copy of ours; gone already is fine. Only where copies can be made and removed. */
  remove?(target: Target, providerId: string, sendBy: SendBy): Promise<void>
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
