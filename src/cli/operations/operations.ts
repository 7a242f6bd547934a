/**
 * What the operating commands ask, whoever answers: a server over HTTP, or the database itself.
 * The answers have the shapes of the HTTP contract, so that a command is written once and its
 * `--json` is the same either way.
 */
import type { z } from 'zod'
import type {
  auditEvent,
  auditQuery,
  budgetList,
  claimed,
  confirmBody,
  createdToken,
  deliveriesQuery,
  DeliveryView,
  DeliveryWithAttemptsView,
  inboxEntry,
  inboxEntryWithBody,
  inboxQuery,
  retried,
  retryManyBody,
  RunView,
  runsQuery,
  token,
  tokenBody,
  tokensQuery,
  why,
} from '../../contract.ts'

export type AuditView = z.infer<typeof auditEvent>
export type ClaimedView = z.infer<typeof claimed>
export type TokenView = z.infer<typeof token>
export type CreatedTokenView = z.infer<typeof createdToken>
export type InboxEntryView = z.infer<typeof inboxEntry>
export type InboxEntryWithBodyView = z.infer<typeof inboxEntryWithBody>
export type WhyView = z.infer<typeof why>
export type BudgetsView = z.infer<typeof budgetList>
export type { DeliveryView, DeliveryWithAttemptsView, RunView }

export interface Listed<T> {
  readonly items: readonly T[]
  readonly next_cursor: string | null
}

export type RunsFilter = z.infer<typeof runsQuery>
export type AuditPage = z.infer<typeof auditQuery>
export type InboxPage = z.infer<typeof inboxQuery>
export type DeliveriesPage = z.infer<typeof deliveriesQuery>
export type RetryMany = NonNullable<z.infer<typeof retryManyBody>>
export type Confirmation = NonNullable<z.infer<typeof confirmBody>>
export type TokensPage = z.infer<typeof tokensQuery>
export type NewTokenBody = z.infer<typeof tokenBody>

export interface FollowRequest {
  readonly filter: Pick<AuditPage, 'run' | 'delivery' | 'type'>
  /** How many of the latest events come first. */
  readonly last: number
  readonly signal: AbortSignal
}

export interface Operations {
  listRuns(query: RunsFilter): Promise<Listed<RunView>>
  run(id: string): Promise<RunView>
  rerunRun(id: string): Promise<ClaimedView>
  cancelRun(id: string): Promise<RunView>

  listAudit(query: AuditPage): Promise<Listed<AuditView>>
  /** The latest, then what happens from now on, each once and in order, until `signal` aborts. */
  followAudit(request: FollowRequest): AsyncIterable<AuditView>

  listInbox(query: InboxPage): Promise<Listed<InboxEntryView>>
  inboxEntry(id: string): Promise<InboxEntryWithBodyView>
  replayInboxEntry(id: string): Promise<InboxEntryView>

  listDeliveries(query: DeliveriesPage): Promise<Listed<DeliveryView>>
  delivery(id: string): Promise<DeliveryWithAttemptsView>
  retryDelivery(id: string): Promise<DeliveryView>
  retryDeliveries(filter: RetryMany): Promise<z.infer<typeof retried>>
  skipDelivery(id: string, reason: string): Promise<DeliveryView>
  confirmDelivery(id: string, confirmation: Confirmation): Promise<DeliveryView>
  budgets(): Promise<BudgetsView>
  unblockIdentity(identity: string): Promise<BudgetsView['items'][number]>

  why(query: string): Promise<WhyView>

  createToken(body: NewTokenBody): Promise<CreatedTokenView>
  listTokens(page: TokensPage): Promise<Listed<TokenView>>
  deleteToken(id: string): Promise<void>

  close(): Promise<void>
}
