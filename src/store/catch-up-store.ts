/**
 * Port: what the store knows of what was heard and of what is still to be looked at, so that
 * catching up finds what was not and leaves nothing out for good. Part of the store: each verb is
 * one transaction.
 */
import type { HeardHead, InboxEntry } from '../domain/inbox.ts'
import type { Run } from '../domain/run.ts'
import type { Counted } from './upkeep-store.ts'

export interface CatchUpStore {
  /** Which of these GUIDs the inbox has. */
  knownWebhooks(webhookIds: readonly string[]): Promise<ReadonlySet<string>>
  /** Heads that events of this lane named, the latest by GitHub's clock first. */
  heardHeads(filter: HeardFilter, limit: number): Promise<readonly HeardHead[]>
  /** The latest event of this lane, by GitHub's clock; null when the inbox has none. */
  lastHeard(filter: HeardFilter): Promise<InboxEntry | null>
  /**
   * Whether the event that opened or closed the pull request was heard, so that it is in this state
   * now: a label tells of a state, and nothing acts on that. Null when no event tells.
   */
  wasStateHeard(lane: string, state: 'open' | 'closed'): Promise<boolean | null>
  /**
   * Those that GitHub has told of and that were heard of or worked on since; those that nobody has
   * looked at for longest first.
   */
  repositoriesInUse(since: number, limit: number): Promise<UsedRepositories>
  /**
   * The next few of those that were not heard of since, and that nobody has looked at within the
   * hour. They take turns, so that none is left out for good.
   */
  quietRepositories(since: number, limit: number): Promise<QuietRepositories>
  /** It was looked at, or cannot be: the next one's turn. */
  noteQuietLooked(quiet: QuietRepository): Promise<void>
  /** It was looked at, or cannot be now: the others come first. */
  noteLooked(githubId: number): Promise<void>
  /** How far GitHub's record of what it sent was read; null before the first time. */
  deliveriesRead(): Promise<DeliveriesRead | null>
  noteDeliveriesRead(read: DeliveriesRead): Promise<void>
  /** The next head that GitHub has to be asked about; null when none is due. */
  takeHeadCheck(): Promise<TakenHeadCheck | null>
  /** GitHub has no such pull request: arrival order stands. */
  forgetHeadCheck(runId: string, fence: number): Promise<void>
  backlog(): Promise<CatchUpBacklog>
}

export interface HeardFilter {
  readonly lane: string
  /** Only events that made their head the head, without those about something else. */
  readonly made?: boolean
  /** Only pull request events of these actions. */
  readonly actions?: readonly string[]
}

export interface UsedRepository {
  /** As last heard. */
  readonly name: string
  readonly githubId: number
}

export interface UsedRepositories {
  readonly items: readonly UsedRepository[]
  /** How many there are beyond these. */
  readonly left: number
}

export interface QuietRepository extends UsedRepository {
  /** When it was last heard of or worked on, to a few minutes. */
  readonly usedAt: number
  /** Where it stands among the quiet ones. */
  readonly place: string
}

export interface QuietRepositories {
  readonly items: readonly QuietRepository[]
  /** The first few that come after these; none when these are the last. */
  readonly next: readonly string[]
}

/**
 * Everything that GitHub sent before `to` was looked at, and everything from `gap.from` on; what
 * lies between is read from the cursor on. Always true, whoever wrote it last.
 */
export interface DeliveriesRead {
  readonly to: number
  readonly gap: { readonly cursor: string; readonly from: number } | null
  /** What was read but could not be fetched; left out when there is nothing. */
  readonly owed?: readonly UnfetchedDelivery[]
}

/** A webhook that GitHub could not give us; it is asked for again. */
export interface UnfetchedDelivery {
  readonly id: number
  readonly guid: string
  readonly event: string
  readonly deliveredAt: number
  readonly tries: number
  readonly nextAt: number
}

export interface TakenHeadCheck {
  /** Null when another head took its place since. */
  readonly run: Run | null
  /** The newest decision about it until now: what the answer is told by. */
  readonly fence: number
  /** Asked too often without an answer: arrival order stands. */
  readonly givenUp: boolean
}

export interface CatchUpBacklog {
  readonly headChecks: Counted & { readonly oldestAt: number | null }
  readonly deliveriesUnread: boolean
  /** GUIDs of webhooks that GitHub could not give us yet. */
  readonly deliveriesUnfetched: readonly string[]
}
