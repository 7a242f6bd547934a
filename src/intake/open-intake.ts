/** Intake, put together: the door, the processor behind it, and who we are on GitHub. */
import type { Clock } from '../clock.ts'
import type { GitHub, OwnAccount } from '../github.ts'
import { cachedRoles } from '../github/cached-roles.ts'
import type { Log } from '../log.ts'
import type { RunsService } from '../runs/create-runs.ts'
import type { Scheduler } from '../scheduler.ts'
import type { Store } from '../store.ts'
import { ActPlanner } from './acts.ts'
import type { Metrics } from '../metrics.ts'
import { GitHubQuestions, type AskedGitHub } from './github-questions.ts'
import { createIntake, type Intake } from './intake.ts'
import { watchOwnAccount } from './own-account-watch.ts'
import { Processor } from './processor.ts'
import type { RunTypes } from './route-event.ts'

export interface OpenIntakeOptions {
  readonly secrets: readonly string[]
  readonly types: RunTypes
  readonly store: Store
  readonly runs: RunsService
  /** Null in the sandbox. */
  readonly github: (Pick<GitHub, 'ownAccount'> & AskedGitHub) | null
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly log: Log
  readonly metrics: Metrics
}

export interface OpenedIntake {
  readonly intake: Intake
  readonly acts: ActPlanner
  readonly processor: Processor
  /** Resolves when it has been tried to learn who we are: from now on what enters is processed. */
  readonly ready: Promise<void>
  /** Who we are, after the first time GitHub was asked; null when it did not say. */
  ownAccount(): Promise<OwnAccount | 'refused' | null>
  start(): void
  /** Processes what is in hand; the rest is found at the next start. */
  stop(): Promise<void>
}

export function openIntake(options: OpenIntakeOptions): OpenedIntake {
  const { types, store, runs, github, clock, scheduler, log, metrics, secrets } = options
  const account = watchOwnAccount({ github, scheduler, log })
  const questions = github && new GitHubQuestions({ github, store, clock })
  const acts = new ActPlanner({
    types,
    store,
    github: questions,
    roles: questions && cachedRoles(questions, clock),
    account,
    toClaim: (request, actor) => runs.toClaim(request, actor),
  })
  const processor = new Processor({ store, runs, acts, scheduler, log, metrics })
  return {
    intake: createIntake({ secrets, types, store, processor, account, metrics }),
    acts,
    processor,
    ready: account.firstAsked,
    async ownAccount() {
      await account.firstAsked
      return account.isRefused() ? 'refused' : account.current()
    },
    start() {
      account.start()
      void account.kick()
      processor.start()
      void processor.kick()
    },
    async stop() {
      questions?.stop()
      await processor.stop()
      await account.stop()
    },
  }
}
