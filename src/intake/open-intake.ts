/** Assembles intake: receiving, the processor behind it, and our own account on GitHub. */
import type { Clock } from '../clock.ts'
import type { GitHub, OwnAccount } from '../github.ts'
import { cachedRoles } from '../github/cached-roles.ts'
import type { Log } from '../log.ts'
import type { RunsService } from '../runs/create-runs.ts'
import type { Scheduler } from '../scheduler.ts'
import type { Store } from '../store.ts'
import { ActPlanner } from './acts.ts'
import type { Metrics } from '../metrics.ts'
import { GitHubQuestions, type AskedGitHub } from './asking/github-questions.ts'
import { createIntake, type Intake } from './intake.ts'
import { watchOwnAccount } from './asking/own-account-watch.ts'
import { Processor } from './processor.ts'
import type { RunTypes } from './events/route-event.ts'

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
  /** Resolves when GitHub was first asked for our account: from then on events are processed. */
  readonly ready: Promise<void>
  /** Our account, after GitHub was first asked; null when it did not answer. */
  ownAccount(): Promise<OwnAccount | 'refused' | null>
  start(): void
  /** Finishes what was begun; the next start finds the remaining entries. */
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
