/**
 * Port: what catch-up reads and stores: which events arrived, and what it still has to check. Each
 * verb is one transaction.
 */
import type { EventHead, InboxEntry } from '../domain/inbox.ts'
import type { Run } from '../domain/run.ts'
import type { Counted } from './upkeep-store.ts'

export interface CatchUpStore {
  /** Which of these GUIDs the inbox has. */
  knownWebhooks(webhookIds: readonly string[]): Promise<ReadonlySet<string>>
  /** Heads that events of this lane named, the latest by GitHub's clock first. */
  eventHeads(filter: LaneEventFilter, limit: number): Promise<readonly EventHead[]>
  /** The latest event of this lane, by GitHub's clock; null when the inbox has none. */
  lastEvent(filter: LaneEventFilter): Promise<InboxEntry | null>
  /**
   * Whether the event arrived that opened or closed the pull request like this. (A label event
   * shows the state, but it does not start or end anything.) Null if no event says so.
   */
  hasStateEvent(lane: string, state: 'open' | 'closed'): Promise<boolean | null>
  /**
   * Repositories with a GitHub id that had an event or a claim since then. Those that were not
   * checked for longest come first.
   */
  repositoriesInUse(since: number, limit: number): Promise<UsedRepositories>
  /**
   * The next few repositories without an event since then that were not checked within the hour.
   * They take turns, so that every one is checked at some time.
   */
  quietRepositories(since: number, limit: number): Promise<QuietRepositories>
  /** It was checked, or cannot be checked. The next one follows. */
  noteQuietLooked(quiet: QuietRepository): Promise<void>
  /** It was checked, or cannot be checked now. The others come first. */
  noteLooked(githubId: number): Promise<void>
  /** How far GitHub's record of what it sent was read; null before the first time. */
  deliveriesRead(): Promise<DeliveriesRead | null>
  noteDeliveriesRead(read: DeliveriesRead): Promise<void>
  /** The next head that GitHub has to be asked about; null when none is due. */
  takeHeadCheck(): Promise<TakenHeadCheck | null>
  /** GitHub has no such pull request: the order of arrival stays. */
  forgetHeadCheck(runId: string, fence: number): Promise<void>
  backlog(): Promise<CatchUpBacklog>
}

export interface LaneEventFilter {
  readonly lane: string
  /** Only events that made their head, not those that mention it. */
  readonly made?: boolean
  /** Only pull request events of these actions. */
  readonly actions?: readonly string[]
}

export interface UsedRepository {
  /** The last known name. */
  readonly name: string
  readonly githubId: number
}

export interface UsedRepositories {
  readonly items: readonly UsedRepository[]
  /** How many there are beyond these. */
  readonly left: number
}

export interface QuietRepository extends UsedRepository {
  /** When it last had an event or a claim, to a few minutes. */
  readonly usedAt: number
  /** Its place among the quiet repositories. */
  readonly place: string
}

export interface QuietRepositories {
  readonly items: readonly QuietRepository[]
  /** The first few that come after these; none when these are the last. */
  readonly next: readonly string[]
}

/**
 * Everything that GitHub sent before `to` was checked, and everything from `gap.from` on. The part
 * between them is read from the cursor on. This is true whichever process wrote it last.
 */
export interface DeliveriesRead {
  readonly to: number
  readonly gap: { readonly cursor: string; readonly from: number } | null
  /** Webhooks that were listed but could not be fetched. Missing if there are none. */
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
  /** Null if another head has become current. */
  readonly run: Run | null
  /** The newest decision about it until now: GitHub's answer is newer than that. */
  readonly fence: number
  /** Asked too often without an answer: the order of arrival stays. */
  readonly givenUp: boolean
}

export interface CatchUpBacklog {
  readonly headChecks: Counted & { readonly oldestAt: number | null }
  readonly deliveriesUnread: boolean
  /** GUIDs of webhooks that GitHub could not give us yet. */
  readonly deliveriesUnfetched: readonly string[]
}
