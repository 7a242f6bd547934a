/** Port: the inbox's part of the store. What comes in, what is decided about it, what waits. */
import type { Claim } from '../domain/claim.ts'
import type { InboxDecision, InboxEntry, InboxState, TypeOutcome } from '../domain/inbox.ts'
import type { AskingComment } from '../domain/outbox/refusal.ts'
import type { Run } from '../domain/run.ts'
import type { IdempotencyKey } from './idempotency-key.ts'
import type { Page, Paged } from './page.ts'
import type { ClaimAnswer } from './run-store.ts'

export interface InboxStore {
  /** Stores a webhook before it is answered. Known by its GUID, or as an event, it is a repeat. */
  receive(webhook: NewWebhook): Promise<ReceivedWebhook>
  /** Does what was decided about a waiting webhook and ends its wait, all in one commit. */
  finish(decided: DecidedWebhook): Promise<FinishedWebhook>
  /** It cannot be decided now; try again at `dueAt`. */
  postpone(entryId: string, dueAt: number, why: string): Promise<void>
  /** A person asks to have a webhook processed again. */
  replay(entryId: string, actor: string, idempotencyKey: IdempotencyKey | null): Promise<InboxEntry>
  /** Some that are due, of every repository some. */
  due(request: DueRequest): Promise<DueWebhooks>
  /** By its id, or by GitHub's GUID. */
  get(id: string): Promise<InboxEntry | null>
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
  /** Equal for two deliveries of one event under different GUIDs; null where nothing tells. */
  readonly eventKey: string | null
  /** The pull request's head, where the event names it, and whether it made it that. */
  readonly head: { readonly sha: string; readonly isMade: boolean } | null
  /** False when nothing is left to do about it. */
  readonly waits: boolean
  /** It never came: we found that it had happened. */
  readonly caughtUp?: boolean
  /** What GitHub was answered when it sent this; 0 when it reached nobody. */
  readonly answered?: number | null
  readonly body: WebhookBody
}

/** Headers as JSON; the body as it came, packed by `packBody`. */
export interface WebhookBody {
  readonly headers: string
  readonly body: Uint8Array
}

export interface ReceivedWebhook {
  /** `again`: this GUID was here before. `same-event`: another GUID brought this event. */
  readonly arrived: 'new' | 'again' | 'same-event'
  /** Of a repeat: the entry that brought the event first. */
  readonly entry: InboxEntry
  /** What was stored now; `entry` itself unless the event came under another GUID. */
  readonly storedId: string
}

/** What a webhook leads to, for one run type each. */
export type WebhookAct =
  | {
      readonly act: 'claim'
      readonly claim: Claim
      /** Only while the pull request is open: a later event may have closed it. */
      readonly whileOpen: boolean
    }
  /** A comment asked for it, but the head may be newer than the comment: the thread is told. */
  | { readonly act: 'refuse'; readonly claim: Claim; readonly comment: AskingComment }
  | { readonly act: 'cancel'; readonly type: string; readonly repo: string; readonly pr: number }
  | { readonly act: 'note'; readonly outcome: TypeOutcome }

export interface DecidedWebhook {
  readonly entryId: string
  readonly lane: string
  readonly acts: readonly WebhookAct[]
  /** Why there are no acts; else null. */
  readonly reason: string | null
  /** It is given up: without acts it has failed, and was not merely of no use to anybody. */
  readonly givenUp?: boolean
  /** GitHub was asked how the pull request is, or cannot be: do not answer `look` again. */
  readonly looked?: boolean
}

export interface FinishedWebhook {
  /**
   * `elsewhere`: another process has it in hand, or has done it. `behind`: not its turn yet.
   * `look`: another event of the same second says otherwise, so GitHub has to be asked first.
   */
  readonly result: 'finished' | 'elsewhere' | 'behind' | 'look'
  readonly entry: InboxEntry | null
  readonly claims: readonly ClaimAnswer[]
  readonly cancelled: readonly Run[]
}

/** Where a look for what is due goes on; without it, it begins. */
export interface DueRequest {
  /** The last party that was looked at. */
  readonly after?: string | null
  /** By party: the last of its lanes that was looked at, where there are more. */
  readonly lanesAfter?: ReadonlyMap<string, string>
}

export interface DueWebhooks {
  /** Of each party a few; of a lane the first, and what was tried before. */
  readonly entries: readonly InboxEntry[]
  /** Where to go on; null when all parties were looked at. */
  readonly after: string | null
  /** Of each party that was looked at: its last lane, or null when there is none after it. */
  readonly lanesTo: ReadonlyMap<string, string | null>
}

export interface InboxFilter {
  readonly state?: InboxState
  readonly decision?: InboxDecision
  readonly event?: string
  readonly repo?: string
  readonly number?: number
  readonly webhookId?: string
  /** One pull request, or branch, of one repository, whatever its name is or was. */
  readonly lane?: string
}

export interface InboxBacklog {
  readonly waiting: number
  readonly oldestAt: number | null
  /** Of those that wait, how many were tried in vain, and the one tried most often. */
  readonly postponed: number
  readonly mostTried: Pick<InboxEntry, 'id' | 'tries' | 'lastError'> | null
  /** Given up, and not decided again since; and the newest of them. */
  readonly failed: number
  readonly lastFailed: Pick<InboxEntry, 'id' | 'reason'> | null
}
