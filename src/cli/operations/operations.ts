/**
 * The operations that commands use. Either a server over HTTP answers them, or the database itself.
 * The answers have the shapes of the HTTP contract, so that a command is written once and its
 * `--json` is the same in both cases.
 */
import type { Paging } from '../../contract/answers.ts'
import type { AuditQuery, AuditView } from '../../contract/audit.ts'
import type {
  BudgetList,
  BudgetView,
  ConfirmBody,
  DeliveriesQuery,
  DeliveryView,
  DeliveryWithAttemptsView,
  RetriedView,
  RetryManyBody,
} from '../../contract/deliveries.ts'
import type { InboxEntryView, InboxEntryWithBodyView, InboxQuery } from '../../contract/inbox.ts'
import type { ClaimedView, RunsQuery, RunView } from '../../contract/runs.ts'
import type {
  ConfirmStepBody,
  DecidedStepView,
  FailStepBody,
  StepsQuery,
  StepView,
} from '../../contract/steps.ts'
import type { CreatedTokenView, TokenBody, TokenView } from '../../contract/tokens.ts'
import type { WhyView } from '../../contract/why.ts'

export interface Listed<T> {
  readonly items: readonly T[]
  readonly next_cursor: string | null
}

export interface FollowRequest {
  readonly filter: Pick<AuditQuery, 'run' | 'delivery' | 'type'>
  /** How many of the latest events come first. */
  readonly last: number
  readonly signal: AbortSignal
}

export interface Operations {
  listRuns(query: RunsQuery): Promise<Listed<RunView>>
  run(id: string): Promise<RunView>
  /** What happened to a run, newest first. */
  runAudit(id: string, page: Paging): Promise<Listed<AuditView>>
  rerunRun(id: string): Promise<ClaimedView>
  cancelRun(id: string): Promise<RunView>

  listSteps(id: string, query: StepsQuery): Promise<Listed<StepView>>
  confirmStep(id: string, name: string, body: ConfirmStepBody): Promise<DecidedStepView>
  repeatStep(id: string, name: string): Promise<DecidedStepView>
  failStep(id: string, name: string, body: FailStepBody): Promise<DecidedStepView>

  listAudit(query: AuditQuery): Promise<Listed<AuditView>>
  /** The latest, then what happens from now on, each once and in order, until `signal` aborts. */
  followAudit(request: FollowRequest): AsyncIterable<AuditView>

  listInbox(query: InboxQuery): Promise<Listed<InboxEntryView>>
  inboxEntry(id: string): Promise<InboxEntryWithBodyView>
  replayInboxEntry(id: string): Promise<InboxEntryView>

  listDeliveries(query: DeliveriesQuery): Promise<Listed<DeliveryView>>
  delivery(id: string): Promise<DeliveryWithAttemptsView>
  retryDelivery(id: string): Promise<DeliveryView>
  retryDeliveries(filter: RetryManyBody): Promise<RetriedView>
  skipDelivery(id: string, reason: string): Promise<DeliveryView>
  confirmDelivery(id: string, body: ConfirmBody): Promise<DeliveryView>
  budgets(): Promise<BudgetList>
  unblockIdentity(identity: string): Promise<BudgetView>

  why(query: string): Promise<WhyView>

  createToken(body: TokenBody): Promise<CreatedTokenView>
  listTokens(page: Paging): Promise<Listed<TokenView>>
  deleteToken(id: string): Promise<void>

  close(): Promise<void>
}
