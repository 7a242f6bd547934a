/** Port: the inbox. Webhooks that arrived, what was decided about them, which of them wait. */
import type { Claim } from '../domain/claim.ts'
import type { InboxDecision, InboxEntry, InboxState, TypeOutcome } from '../domain/inbox.ts'
import type { AskingComment } from '../domain/outbox/refusal.ts'
import type { Run } from '../domain/run.ts'
import type { IdempotencyKey } from './idempotency-key.ts'
import type { Page, Paged } from './page.ts'
import type { ClaimAnswer, ExecutorOffers } from './run-store.ts'

export interface InboxStore {
  /** Stores a webhook before it is answered. If its GUID or its event is known, it is a repeat. */
  receive(webhook: NewWebhook): Promise<ReceivedWebhook>
  /**
   * Does what was decided about a waiting webhook and ends its wait, all in one commit. For
   * `offers` see `RunStore.claim`.
   */
  finish(decided: DecidedWebhook, offers?: ExecutorOffers): Promise<FinishedWebhook>
  /** It cannot be decided now; try again at `dueAt`. */
  postpone(entryId: string, dueAt: number, why: string): Promise<void>
  /** A person asks to process a webhook again. */
  replay(entryId: string, actor: string, idempotencyKey: IdempotencyKey | null): Promise<InboxEntry>
  /** Some due entries of every repository. */
  due(request: DueRequest): Promise<DueWebhooks>
  /** By its id, or by GitHub's GUID. */
  get(id: string): Promise<InboxEntry | null>
  /** By GitHub's GUIDs, in no order; one query. */
  getByWebhookIds(webhookIds: readonly string[]): Promise<readonly InboxEntry[]>
  body(arrival: number): Promise<WebhookBody | null>
  list(filter: InboxFilter, page: Page): Promise<Paged<InboxEntry>>
  backlog(): Promise<InboxBacklog>
}

export type NewWebhook = Pick<
  InboxEntry,
  | 'webhookId'
  | 'event'
  | 'action'
  | 'repo'
  | 'repoId'
  | 'number'
  | 'sender'
  | 'lane'
  | 'eventAt'
  | 'prState'
  | 'decision'
  | 'reason'
  | 'outcomes'
> & {
  /** Equal for two GUIDs of one event; null when the payload is not enough to tell. */
  readonly eventKey: string | null
  /** The head of the pull request, if the event names it, and whether the event made it. */
  readonly head: { readonly sha: string; readonly isMade: boolean } | null
  /** False when nothing remains to be done. */
  readonly waits: boolean
  /** It never arrived: catch-up found it. */
  readonly caughtUp?: boolean
  /** The HTTP status that GitHub got when it sent this; 0 when it got no answer. */
  readonly answered?: number | null
  readonly body: WebhookBody
}

/** Headers as JSON; the received body, packed by `packBody`. */
export interface WebhookBody {
  readonly headers: string
  readonly body: Uint8Array
}

export interface ReceivedWebhook {
  /** `again`: this GUID is already stored. `same-event`: the event is stored under another GUID. */
  readonly arrived: 'new' | 'again' | 'same-event'
  /** For a repeat: the first entry of the event. */
  readonly entry: InboxEntry
  /** The stored entry; the same as `entry` unless the event came under another GUID. */
  readonly storedId: string
}

/** What a webhook leads to, for one run type. */
export type WebhookAct =
  | {
      readonly act: 'claim'
      readonly claim: Claim
      /** Only while the pull request is open: a later event may have closed it. */
      readonly whileOpen: boolean
    }
  /** A comment asked for it, but the head may be newer: an answer is published in the thread. */
  | { readonly act: 'refuse'; readonly claim: Claim; readonly comment: AskingComment }
  | { readonly act: 'cancel'; readonly type: string; readonly repo: string; readonly pr: number }
  | { readonly act: 'note'; readonly outcome: TypeOutcome }

export interface DecidedWebhook {
  readonly entryId: string
  readonly lane: string
  readonly acts: readonly WebhookAct[]
  /** Why there are no acts; otherwise null. */
  readonly reason: string | null
  /** It was given up. Then an entry without acts has failed; it was not merely ignored. */
  readonly givenUp?: boolean
  /** GitHub was asked for the pull request, or cannot be asked: do not answer `look` again. */
  readonly looked?: boolean
}

export interface FinishedWebhook {
  /**
   * `elsewhere`: another process works on it or finished it. `behind`: not its turn yet. `look`:
   * another event of the same second contradicts it, so GitHub has to be asked first.
   */
  readonly result: 'finished' | 'elsewhere' | 'behind' | 'look'
  readonly entry: InboxEntry | null
  readonly claims: readonly ClaimAnswer[]
  readonly cancelled: readonly Run[]
}

/** Where to go on reading due entries; without values, from the start. */
export interface DueRequest {
  /** The key of the last repository that was read (`repositoryKeyOf`). */
  readonly after?: string | null
  /** By repository: the last lane that was read, if there are more. */
  readonly lanesAfter?: ReadonlyMap<string, string>
}

export interface DueWebhooks {
  /** A few of each repository: the first of a lane, and entries that were tried before. */
  readonly entries: readonly InboxEntry[]
  /** Where to go on; null when all repositories were read. */
  readonly after: string | null
  /** For each repository that was read: the last lane, or null when there are no more. */
  readonly lanesTo: ReadonlyMap<string, string | null>
}

export interface InboxFilter {
  readonly state?: InboxState
  readonly decision?: InboxDecision
  readonly event?: string
  readonly repo?: string
  readonly number?: number
  readonly webhookId?: string
  /** One pull request or branch of one repository, under any of its names. */
  readonly lane?: string
}

export interface InboxBacklog {
  readonly waiting: number
  readonly oldestAt: number | null
  /** How many waiting entries were tried without success, and the one tried most often. */
  readonly postponed: number
  readonly mostTried: Pick<InboxEntry, 'id' | 'tries' | 'lastError'> | null
  /** How many were given up and not replayed since, and the newest of them. */
  readonly failed: number
  readonly lastFailed: Pick<InboxEntry, 'id' | 'reason'> | null
}
