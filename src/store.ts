/**
 * The store: the only truth. Every verb is one transaction, with its audit rows in it; no
 * connection or transaction crosses this port. A verb that rejects has changed nothing, unless it
 * rejects with StoreUnavailableError: a commit whose answer is lost is looked up before the verb
 * answers, but a store that stays away leaves it unknown.
 *
 * Deadlocks, serialisation failures, a busy file and lost compare-and-sets are retried inside; what
 * stays contended for half a minute is a StoreContendedError, never "unavailable".
 */
import type { CatchUpStore } from './catch-up-store.ts'
import type { HeardAt, NameStanding } from './domain/repository-names.ts'
import type { AuditRow, RefusedCredential } from './domain/audit.ts'
import type { Claim, ClaimReason } from './domain/claim.ts'
import type { InboxEntry } from './domain/inbox.ts'
import type { Interruption, LeaseGrant, Outcome, Run, RunState, Verdict } from './domain/run.ts'
import type { Subject } from './domain/subject.ts'
import type {
  DecidedWebhook,
  DueAsked,
  DueWebhooks,
  InboxBacklog,
  InboxFilter,
  NewWebhook,
  ReceivedWebhook,
  SettledWebhook,
  WebhookBody,
} from './inbox-store.ts'
import type { RepositoryLimit, TokenLimits } from './domain/token-limits.ts'
import type { OutboxStore } from './outbox-store.ts'
import type { TokenStore } from './token-store.ts'

export interface Store extends TokenStore {
  /** The store's one clock: this process's on SQLite, the server's on PostgreSQL. */
  now(): number
  /** Rejects with StoreUnavailableError unless the store answers and its clock is known. */
  ping(): Promise<void>
  close(): Promise<void>

  /** Stores a webhook before it is answered. Known by its GUID, or as an event, it is a repeat. */
  receiveWebhook(webhook: NewWebhook): Promise<ReceivedWebhook>
  /** Does what was decided about a waiting webhook and ends its wait, all in one commit. */
  settleWebhook(decided: DecidedWebhook): Promise<SettledWebhook>
  /** It cannot be decided now; look again at `dueAt`. */
  postponeWebhook(entryId: string, dueAt: number, why: string): Promise<void>
  /** A person's wish to have a webhook decided again. */
  replayWebhook(entryId: string, actor: string, once: Once | null): Promise<InboxEntry>
  /** Some that are due, of every party some. */
  dueWebhooks(asked: DueAsked): Promise<DueWebhooks>
  /** By its id, or by GitHub's GUID. */
  inboxEntry(id: string): Promise<InboxEntry | null>
  webhookBody(arrival: number): Promise<WebhookBody | null>
  listInbox(filter: InboxFilter, page: Page): Promise<Paged<InboxEntry>>
  inboxBacklog(): Promise<InboxBacklog>

  /** Claim or skip: the table in domain/claim.ts, decided under the subject's lock. */
  claimRun(claim: Claim, once: Once | null): Promise<ClaimAnswer>
  /** What GitHub says is the head settles an order that arrival decided for now. */
  settleHead(settled: SettledHead): Promise<SettleAnswer>
  /** A new holder for a pending run; null when none is to be had. */
  leaseRun(request: LeaseRequest, once: Once | null): Promise<LeaseAnswer | null>
  /** Renews the lease, or throws the ConflictError that tells the holder to stop. */
  heartbeatRun(request: HolderRequest, once: Once | null): Promise<HeartbeatAnswer>
  /**
   * Of these types, those with a run that is free to be leased; with `any`, the type of the one
   * that waits longest as well. Within `repositories` it passes over what the others have waiting;
   * else it never grows with how many wait.
   */
  availableTypes(
    types: readonly string[],
    any: boolean,
    repositories: readonly RepositoryLimit[] | null,
  ): Promise<readonly string[]>
  /** Gives a run back without counting an attempt. */
  releaseRun(request: HolderRequest, once: Once | null): Promise<Run>
  /** The holder's end of a run. A repeat by the same holder answers the same. */
  completeRun(request: CompleteRequest, once: Once | null): Promise<Run>
  cancelRun(runId: string, actor: string, once: Once | null): Promise<Run>
  /** A person's wish to do it again: the next round, or a note for the end of this one. */
  rerunRun(runId: string, actor: string, once: Once | null): Promise<ClaimAnswer>

  /** A word from whoever works on it; shown soon, the last one always. */
  reportStatus(request: ReportRequest, once: Once | null): Promise<Run>
  /** What has to leave, and who sends it. */
  readonly outbox: OutboxStore
  /** What was heard, and what is still to be looked at. */
  readonly catchUp: CatchUpStore

  run(id: string): Promise<Run | null>
  subject(id: string): Promise<Subject | null>
  /**
   * Of a pull request, one for each type of run that ever was: at most ten, last used first. With
   * GitHub's id of a repository that is known by it, the name does not count.
   */
  subjectsOf(repo: string, pr: number, repoId?: number | null): Promise<readonly Subject[]>
  /** The run of a subject that is worked on or free to be leased: what its queue waits for. */
  runAhead(subjectId: string): Promise<Run | null>
  listRuns(filter: RunFilter, page: Page): Promise<Paged<Run>>
  /** Which of these runs are no longer held under the given fence. For long-polls; one query. */
  lostHolds(holds: readonly Hold[]): Promise<readonly string[]>

  /** How many runs have not ended, by state. Never grows with history. */
  activeRuns(): Promise<Readonly<Record<ActiveState, number>>>
  /** Runs the sweeper has to look at, oldest first. Never grows with history. */
  dueRuns(limit: number): Promise<readonly string[]>
  /** Ends or gives back one due run; null when somebody else already did. */
  sweepRun(runId: string): Promise<Run | null>
  /** Says the store is being served, and notices when it was not. */
  beat(): Promise<void>
  /** The same for a program that serves nobody: it notices when the store was away. */
  watch(): Promise<void>
  /** A server's last sign of life, stale by a few seconds; null when none ever served. */
  servedAt(): Promise<number | null>
  /** For `doctor`. Bounded, however much there is. */
  vitals(): Promise<StoreVitals>

  /** One bounded bite of what is past retention. Call again until `more` is false. */
  purge(limits: PurgeLimits, actor: string): Promise<PurgeAnswer>

  /** Newest first, in the order of commits; by time where the filter speaks of time. */
  listAudit(filter: AuditFilter, page: Page): Promise<Paged<AuditRow>>
  /** Oldest first. Whoever goes on from the last `order` it was given misses no commit. */
  auditAfter(order: number, filter: AuditFilter, limit: number): Promise<AuditBite>
  /** The newest `order`, or 0; whatever is committed from now on is above it. */
  latestAuditOrder(): Promise<number>
  /** Readers do it themselves; done now and then, none of them meets a long backlog. */
  placeAudits(): Promise<void>

  /**
   * GitHub's numeric id for a repository's name, and when GitHub used the two together: what is
   * older than what is known changes nothing. `actor`: who says so.
   */
  learnRepository(name: string, githubId: number, at: HeardAt, actor: string): Promise<void>
  /**
   * The same by a caller's word, which may be wrong. `known`: it is so, or it was learnt, and until
   * GitHub says so too, whoever writes there asks first (`toldName`). Else nothing was learnt,
   * because it would change what GitHub said, or what is claimed by the name alone.
   */
  tellRepository(
    name: string,
    githubId: number,
    at: number | null,
    actor: string,
  ): Promise<NameStanding>
  /** What GitHub has said of the two; teaches nothing. */
  nameStanding(name: string, githubId: number): Promise<NameStanding>
  /** As last heard, by our own id; one query. */
  repositoryNames(ids: readonly string[]): Promise<ReadonlyMap<string, string>>
  /** By our own id; null when this store has none. */
  repository(id: string): Promise<KnownRepository | null>
  /** What a name means now; null when this store has never heard of it. */
  repositoryNamed(name: string): Promise<KnownRepository | null>
  /** Remembers `mode` at first start; answers what the store has been from its beginning. */
  recordMode(mode: StoreMode): Promise<StoreMode>
  /** Null before the first start. What happened before it was never ours to hear of. */
  firstStartedAt(): Promise<number | null>
}

/** Of the rows after a place: so many, or fewer where they are large, but at least one. */
export interface AuditBite {
  readonly rows: readonly AuditRow[]
  readonly more: boolean
}

export interface KnownRepository {
  /** Our own. */
  readonly id: string
  /** As last heard. */
  readonly name: string
  /** Null until an event or an answer of GitHub named it. */
  readonly githubId: number | null
}

export type StoreMode = 'sandbox' | 'live'

/**
 * An Idempotency-Key, prepared by the door: committed with the effect, kept for a day. The answer
 * may hold a lease or a token in the clear, so it is sealed with what only the caller knows.
 */
export interface Once {
  readonly keyHash: string
  readonly bodyHash: string
  readonly seal: (text: string) => string
  readonly open: (sealed: string) => string
}

export interface LeaseHandle {
  readonly secret: string
  readonly expiresAt: number
}

export interface ClaimAnswer {
  readonly reason: ClaimReason
  readonly process: boolean
  readonly runKey: string
  /** Null only when the row of a still current key was purged. */
  readonly run: Run | null
  readonly supersededKeys: readonly string[]
  readonly supersededRunIds: readonly string[]
  readonly lease: LeaseHandle | null
  /** Arrival decided between two heads; `settleHead` should follow. */
  readonly unclear: boolean
  /** The id of the audit row that tells of this decision. */
  readonly decisionId: number
}

export interface SettledHead {
  /** Of the claim that arrival decided: once another is current, the look came too late. */
  readonly runId: string
  /** The newest decision that was known when GitHub was asked. */
  readonly fence: number
  readonly headSha: string
  /** Of runs on this head, the one on exactly this base is meant; else the head alone counts. */
  readonly baseSha: string
  /** The pull request's `updated_at` in the answer that named this head. */
  readonly at: number
  readonly actor: string
}

export interface SettleAnswer {
  /**
   * `confirmed`: the current head is the head. `moved`: another known run is of the head, and
   * took its place. `unchanged`: what is known of the order says otherwise.
   */
  readonly result: 'confirmed' | 'moved' | 'unchanged' | 'unknown-head'
  readonly supersededRunIds: readonly string[]
}

export interface LeaseRequest {
  readonly grant: Omit<LeaseGrant, 'ms'>
  /** Null takes the run's own: what its claim asked for, or its last holder used. */
  readonly leaseMs: number | null
  readonly types: readonly string[] | null
  readonly runId: string | null
  /** Only what this token reaches. */
  readonly within?: TokenLimits | undefined
  readonly actor: string
}

export interface LeaseAnswer {
  readonly run: Run
  readonly lease: LeaseHandle
}

export interface HolderRequest {
  readonly runId: string
  readonly leaseHash: string
  /** Null keeps the lease's own length. */
  readonly leaseMs: number | null
  readonly actor: string
}

export interface HeartbeatAnswer {
  readonly expiresAt: number
  readonly fence: number
  readonly leaseMs: number
}

export interface CompleteRequest {
  readonly runId: string
  readonly leaseHash: string
  readonly actor: string
  readonly outcome: Outcome
  readonly verdict: Verdict | null
  readonly summary: string | null
  readonly description: string | null
  readonly targetUrl: string | null
  readonly result: string | null
  readonly errorCode: string | null
  readonly errorText: string | null
}

export interface ReportRequest {
  readonly runId: string
  /** Null for an operator, who reports without holding it. */
  readonly leaseHash: string | null
  readonly actor: string
  readonly text: string
}

export interface Hold {
  readonly runId: string
  readonly fence: number
}

export type ActiveState = 'pending' | 'running' | 'waiting'

export interface RunFilter {
  readonly repo?: string
  /** GitHub's id: where it is known, it counts and not the name. */
  readonly repoId?: number | null
  readonly pr?: number
  readonly state?: RunState
  readonly type?: string
  readonly key?: string
  readonly headSha?: string
  /** Only what this token reaches. */
  readonly within?: TokenLimits
}

export interface AuditFilter {
  readonly runId?: string
  /** What happened to this webhook. */
  readonly inboxId?: string
  readonly deliveryId?: string
  /** What was refused because this was wrong. */
  readonly refused?: RefusedCredential
  readonly type?: string
  /** Times at or after, and before. */
  readonly since?: number
  readonly until?: number
}

/** `cursor` is what the previous page answered; a text that is no cursor is InvalidInputError. */
export interface Page {
  readonly limit: number
  readonly cursor: string | null
}

export interface Paged<T> {
  readonly items: readonly T[]
  readonly nextCursor: string | null
}

export interface PurgeLimits {
  readonly finishedMs: number
  readonly supersededMs: number
  readonly auditMs: number
  readonly eventMs: number
}

export interface PurgeAnswer {
  readonly runs: number
  readonly more: boolean
}

/** How many there are; counting stops early, and then there are more. */
export interface Counted {
  readonly count: number
  readonly more: boolean
}

export interface StoreVitals {
  /** Null before the first start. */
  readonly mode: StoreMode | null
  /** A server's last sign of life; stale by a few seconds. */
  readonly aliveAt: number | null
  /** Runs that a worker could take now. */
  readonly pending: Counted & {
    readonly oldestAt: number | null
    readonly types: readonly string[]
  }
  /** Runs that the sweeper should have looked at over a minute ago. */
  readonly overdue: Counted
}

export type { CreatedToken, NewToken, StoredToken, Token } from './token-store.ts'
export type { Interruption }
export type * from './inbox-store.ts'
