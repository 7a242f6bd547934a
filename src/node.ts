/**
 * One node: everything that works on a store, assembled from ports in one place. `serve`, commands
 * that work once, the tests and the simulation all get theirs here, so that a background loop that
 * is added below (`backgroundLoops`) runs in each of them.
 *
 * What must hold: it opens nothing, and knows neither settings nor any database. The order of
 * starting: nothing may be taken from a holder before it is known how long holders could not reach
 * us; what a dead predecessor sent without an answer is in doubt before anything else is sent.
 */
import { createAuditPlacer } from './audit/placer.ts'
import type { Clock } from './clock.ts'
import type { BudgetLimits } from './domain/outbox/budget.ts'
import type { GitHub, GitHubCalls, GitHubConnection } from './github.ts'
import type { CatchUpReport } from './intake/catch-up-report.ts'
import { createCatchUp, type CatchUp } from './intake/catch-up.ts'
import { GitHubQuestions } from './intake/github-questions.ts'
import { openIntake, type OpenedIntake } from './intake/open-intake.ts'
import type { RunTypes } from './intake/route-event.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { CheckIsOurs } from './outbox/is-ours.ts'
import { openIsOurs, openOutbox } from './outbox/open-outbox.ts'
import type { Publisher } from './outbox/publisher.ts'
import { createReconciler } from './outbox/reconciler.ts'
import type { Random } from './random.ts'
import { createRuns, type RunsOptions, type RunsService } from './runs/create-runs.ts'
import { createPulse } from './runs/pulse.ts'
import { createPurger, type PurgerOptions } from './runs/purge.ts'
import { createSweeper } from './runs/sweeper.ts'
import type { Scheduler } from './scheduler.ts'
import type { Store } from './store.ts'

export type LoopName =
  'pulse' | 'audit' | 'sweeper' | 'purger' | 'reconciler' | 'intake' | 'catchUp' | 'publisher'

export interface NodeOptions {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  readonly scheduler: Scheduler
  /** Other timers for a loop; the simulation lets some of them run less often. */
  readonly schedulerFor?: (loop: LoopName) => Scheduler
  readonly log: Log
  readonly metrics: Metrics
  /** What is published to; a simulated one in the sandbox. Null: this node publishes nothing. */
  readonly publishTo: (GitHub & GitHubCalls) | null
  /** Who is asked for heads, roles and missed webhooks. Null in the sandbox: nobody knows. */
  readonly ask: GitHubConnection | null
  readonly types: RunTypes
  readonly webhookSecrets: readonly string[]
  readonly leaseMs: RunsOptions['leaseMs']
  readonly policyOf: RunsOptions['policyOf']
  readonly retention: PurgerOptions['retention']
  readonly limits: BudgetLimits
  /** Whose images are shown; nobody's when not given. */
  readonly imageHosts?: readonly string[]
  /** No other process works on this store, as on SQLite: what a predecessor held is nobody's. */
  readonly isAlone: boolean
}

export interface HoldfastNode {
  readonly store: Store
  readonly runs: RunsService
  readonly intake: OpenedIntake
  readonly catchUp: CatchUp
  /** Null when this node publishes nothing. */
  readonly publisher: Publisher | null
  readonly checkIsOurs: CheckIsOurs | null
  /** Before requests are taken. */
  prepare(): Promise<void>
  /** Starts every loop. */
  start(): Promise<void>
  /** One pass of catch-up beside whoever serves the store, or while nobody does. */
  catchUpOnce(): Promise<CatchUpReport>
  /** Finishes what is in progress. The store stays open: it is its owner's. */
  stop(): Promise<void>
}

export function openNode(options: NodeOptions): HoldfastNode {
  const { store, clock, publishTo, ask } = options
  const questions = publishTo && new GitHubQuestions({ github: publishTo, store, clock })
  const runs = createRuns({
    ...options,
    headSource: ask && questions,
    ...(questions !== null && { nameSource: questions }),
  })
  const shared = { ...options, runs, github: ask }
  const intake = openIntake({
    ...shared,
    secrets: options.webhookSecrets,
    scheduler: timersOf(options, 'intake'),
  })
  const catchUp = createCatchUp({ ...shared, intake, scheduler: timersOf(options, 'catchUp') })
  const published = publishTo && { ...options, github: publishTo }
  const publisher =
    published && openOutbox({ ...published, scheduler: timersOf(options, 'publisher') })
  const background = backgroundLoops(options, runs)
  const publishing: readonly Loop[] = publisher === null ? [] : [publisher]

  /** What brings new work stops first. */
  async function stopIntake(): Promise<void> {
    await catchUp.stop()
    await intake.stop()
  }

  return {
    store,
    runs,
    intake,
    catchUp,
    publisher,
    checkIsOurs: published && openIsOurs(published),
    prepare: () => store.upkeep.beat(),
    async start() {
      if (options.isAlone) await store.outbox.takeOverLeases()
      const inOrder = [intake, ...background, atOnce(catchUp), ...publishing]
      for (const loop of inOrder) loop.start()
    },
    async catchUpOnce() {
      intake.start()
      try {
        return await catchUp.now()
      } finally {
        await stopIntake()
        await runs.idle()
        await runs.stop()
      }
    },
    async stop() {
      await stopIntake()
      await Promise.all([...background, ...publishing, runs].map((part) => part.stop()))
    },
  }
}

/** What starts and stops with a node. */
interface Loop {
  start(): void
  stop(): Promise<unknown>
}

/** A new loop is added here, and runs in every node. */
function backgroundLoops(options: NodeOptions, runs: RunsService): readonly Loop[] {
  const { store, log, retention } = options
  const of = (loop: LoopName) => ({ store, log, scheduler: timersOf(options, loop) })
  return [
    createPulse(of('pulse')),
    createAuditPlacer(of('audit')),
    createSweeper({
      ...of('sweeper'),
      serves: true,
      onSwept: (swept) => runs.runsEnded(swept),
    }),
    atOnce(createPurger({ ...of('purger'), retention })),
    atOnce(createReconciler(of('reconciler'))),
  ]
}

function timersOf(options: NodeOptions, loop: LoopName): Scheduler {
  return options.schedulerFor?.(loop) ?? options.scheduler
}

/** One pass right away, and then by its timer. */
function atOnce(loop: Loop & { kick(): Promise<void> }): Loop {
  return {
    start() {
      loop.start()
      void loop.kick()
    },
    stop: () => loop.stop(),
  }
}
