/** What operations need of the system. Each takes only its part. */
import type { AuditFeed } from '../audit/feed.ts'
import type { WhyStore } from '../audit/why.ts'
import type { Report } from '../doctor/report.ts'
import type { BudgetLimits } from '../domain/outbox/budget.ts'
import type { PublishRights } from '../domain/outbox/publish-rights.ts'
import type { CatchUpReport } from '../intake/catch-up/catch-up-report.ts'
import type { Intake } from '../intake/intake.ts'
import type { CheckIsOurs } from '../outbox/is-ours.ts'
import type { Random } from '../random.ts'
import type { RunGitHubTokens } from '../runs/github-token.ts'
import type { Runs } from '../runs/runs.ts'
import type { RunSecrets } from '../texts/run-secrets.ts'
import type { OutboxStore, Store, StorePart } from '../store.ts'

export interface OperationPorts {
  readonly store: OperationStore
  readonly runs: Runs
  readonly intake: Pick<Intake, 'replay'>
  /** Looks now for webhooks that never arrived and changes without a webhook. */
  readonly catchUp: () => Promise<CatchUpReport>
  readonly auditFeed: AuditFeed
  /** What runs of a type may publish. */
  readonly publishRights: (type: string) => PublishRights
  readonly githubTokens: RunGitHubTokens
  /** Rejects if the id that an operator gives is not this delivery's on GitHub. */
  readonly checkIsOurs: CheckIsOurs
  /** How much each identity may write. */
  readonly budgetLimits: BudgetLimits
  readonly random: Random
  /** What the commands of this process must not show. */
  readonly runSecrets?: RunSecrets
  /** The server examines itself; never rejects. */
  readonly doctor: () => Promise<Report>
}

export type OperationStore = StorePart<{
  inbox: 'body'
  runs: 'reportStatus' | 'types'
  repositories: 'names' | 'getByName'
  steps: 'list' | 'get'
}> &
  Pick<Store, 'tokens'> &
  Omit<WhyStore, 'outbox'> & { readonly outbox: OperationOutbox }

type OperationOutbox = Pick<
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
