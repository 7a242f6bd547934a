/** What the HTTP door is given. It opens nothing itself: no store, no clock, no randomness. */
import type { FastifyBaseLogger } from 'fastify'
import type { AuditFeed } from '../audit/feed.ts'
import type { WhyStore } from '../audit/why.ts'
import type { Clock } from '../clock.ts'
import type { BudgetLimits } from '../domain/outbox/budget.ts'
import type { PublishRights } from '../domain/outbox/publish-rights.ts'
import type { CatchUpReport } from '../intake/catch-up-report.ts'
import type { Intake } from '../intake/intake.ts'
import type { Report } from '../doctor/report.ts'
import type { Metrics, MetricsPage } from '../metrics.ts'
import type { Random } from '../random.ts'
import type { Scheduler } from '../scheduler.ts'
import type { Runs } from '../runs/runs.ts'
import type { CheckIsOurs } from '../outbox/is-ours.ts'
import type { OutboxStore } from '../store/outbox-store.ts'
import type { Store, StorePart } from '../store.ts'
import type { FailedAccess } from './failed-access.ts'
import type { IsOurHost } from './host-check.ts'
import type { TouchToken } from './token-touch.ts'
import type { TokenWatch } from './token-watch.ts'

export interface HttpDeps {
  readonly runs: Runs
  readonly intake: Intake
  /** Looks now for what no webhook told us. */
  readonly catchUp: () => Promise<CatchUpReport>
  readonly store: HttpStore
  readonly auditFeed: AuditFeed
  /** What runs of a type may publish. */
  readonly publishRights: (type: string) => PublishRights
  /** Rejects where what an operator names on GitHub is not that delivery's. */
  readonly checkIsOurs: CheckIsOurs
  /** What each identity may write. */
  readonly budgetLimits: BudgetLimits
  /** `hashSecret` of the admin token. */
  readonly adminTokenHash: string
  /** Whether a `Host` header names this server. */
  readonly isOurHost: IsOurHost
  readonly failedAccess: FailedAccess
  /** Addresses and ranges of proxies that tell whom a request is from. */
  readonly trustedProxies: readonly string[] | null
  /** Notes that a token was used; nobody waits for it. */
  readonly touchToken: TouchToken
  /** Ends what is held open with a token that ends. */
  readonly tokenWatch: TokenWatch
  readonly metrics: Metrics
  readonly metricsPage: MetricsPage
  readonly clock: Clock
  readonly random: Random
  readonly scheduler: Scheduler
  readonly log: FastifyBaseLogger
  readonly version: string
  /** Rejects while something besides the store is not ready. */
  readonly readiness?: () => Promise<void>
  readonly sandbox: boolean
  /** The server examines itself; never rejects. */
  readonly doctor: () => Promise<Report>
  /** Fires before `close`: what is held is answered early, connections are not kept. */
  readonly stopping?: AbortSignal
}

export type HttpStore = StorePart<{
  inbox: 'body'
  runs: 'reportStatus'
  repositories: 'names' | 'named'
}> &
  Pick<Store, 'ping' | 'tokens'> &
  Omit<WhyStore, 'outbox'> & { readonly outbox: HttpOutbox }

type HttpOutbox = Pick<
  OutboxStore,
  | 'rules'
  | 'publish'
  | 'delivery'
  | 'messageBefore'
  | 'attemptsOf'
  | 'list'
  | 'anchorsOf'
  | 'budgets'
  | 'unblock'
  | 'retry'
  | 'retryMany'
  | 'skip'
  | 'confirm'
>
