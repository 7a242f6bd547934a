/**
 * One node: everything that works on a store, assembled from ports in one place. `serve`, one-off
 * commands, the tests and the simulation all use it. So a background loop that is added below
 * (`backgroundLoops`) runs in each of them.
 *
 * What must hold: this file opens nothing, and knows no settings and no database. The order of
 * starting matters. Before a run is taken from a holder, it must be known how long holders could
 * not reach us. Before anything is sent, the unanswered deliveries of an earlier process must be in
 * doubt.
 */
import { createAuditNumbering } from './audit/number-rows.ts'
import type { Clock } from './clock.ts'
import type { Engine } from './engine.ts'
import type { BudgetLimits } from './domain/outbox/budget.ts'
import { silenceMsMax } from './domain/served.ts'
import type { Run } from './domain/run.ts'
import type { GitHub, GitHubCalls, GitHubConnection } from './github.ts'
import type { CatchUpReport } from './intake/catch-up/catch-up-report.ts'
import { createCatchUp, type CatchUp } from './intake/catch-up/catch-up.ts'
import { GitHubQuestions } from './intake/asking/github-questions.ts'
import { openIntake, type OpenedIntake } from './intake/open-intake.ts'
import type { RunTypes } from './intake/events/route-event.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { CheckIsOurs } from './outbox/is-ours.ts'
import { openIsOurs, openOutbox } from './github-outbox/open-outbox.ts'
import type { Publisher } from './outbox/publisher.ts'
import { createReconciler } from './outbox/reconciler.ts'
import type { Random } from './random.ts'
import { createRuns, type RunsOptions, type RunsService } from './runs/create-runs.ts'
import { createPulse } from './runs/pulse.ts'
import { createPurger, type PurgerOptions } from './runs/purge.ts'
import { createSweeper } from './runs/sweeper.ts'
import type { Scheduler } from './scheduler.ts'
import type { Store } from './store.ts'
import { createWorkLoop, type WorkLoop, type WorkLoopOptions } from './work/work-loop.ts'

/** Every background loop of a node. */
export const loopNames = [
  'pulse',
  'audit',
  'sweeper',
  'purger',
  'reconciler',
  'intake',
  'catchUp',
  'publisher',
  'work',
] as const
export type LoopName = (typeof loopNames)[number]

export interface NodeOptions {
  readonly store: Store
  /** Stopped with the node. */
  readonly engine: Engine
  readonly clock: Clock
  readonly random: Random
  readonly scheduler: Scheduler
  /** Other timers for a loop. In the simulation some loops run less often. */
  readonly schedulerFor?: (loop: LoopName) => Scheduler
  readonly log: Log
  readonly metrics: Metrics
  /** Where it publishes; in the sandbox a simulated GitHub. Null: this node publishes nothing. */
  readonly publishTo: (GitHub & GitHubCalls) | null
  /** Where heads, roles and missed webhooks are asked for. Null in the sandbox. */
  readonly ask: GitHubConnection | null
  readonly types: RunTypes
  readonly webhookSecrets: readonly string[]
  readonly leaseMs: RunsOptions['leaseMs']
  readonly policyOf: RunsOptions['policyOf']
  readonly executedTypes?: readonly string[]
  readonly retention: PurgerOptions['retention']
  readonly limits: BudgetLimits
  /** Hosts whose images are shown. Default: none. */
  readonly imageHosts?: readonly string[]
  /** No other process works on this store, as on SQLite. So leases from before are free. */
  readonly isAlone: boolean
  /**
   * A `server` is what holders reach: it processes webhooks and sweeps. A `worker` only executes
   * and publishes; it sweeps while no server is active.
   */
  readonly role: 'server' | 'worker'
  /** What this node executes itself. Null: nothing. */
  readonly work: NodeWork | null
}

export type NodeWork = Pick<WorkLoopOptions, 'types' | 'worker' | 'renewal' | 'onStuck'>

/** Where a process finds runs without being told: at most this long after they are there. */
const pollMs = { embedded: 500, bullmq: 5000 } as const

export interface HoldfastNode {
  readonly store: Store
  readonly runs: RunsService
  readonly intake: OpenedIntake
  readonly catchUp: CatchUp
  /** Null when this node publishes nothing. */
  readonly publisher: Publisher | null
  readonly checkIsOurs: CheckIsOurs | null
  /** Call this before requests are accepted. */
  prepare(): Promise<void>
  /** Starts every loop. */
  start(): Promise<void>
  /**
   * Executes nothing more. Work that takes longer than `graceMs` is stopped, and its runs are given
   * back. Returns how many they were.
   */
  stopWork(graceMs: number): Promise<number>
  /** One pass of catch-up, whether or not a server uses the same store. */
  catchUpOnce(): Promise<CatchUpReport>
  /** Finishes what is in progress. The store stays open, and its owner closes it. */
  stop(): Promise<void>
}

export function openNode(options: NodeOptions): HoldfastNode {
  const { store, clock, publishTo, ask, engine } = options
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
  const work = options.work && openWork(options, options.work, runs)
  const publishing: readonly Loop[] = publisher === null ? [] : [publisher]

  /** These stop first, because they create new work. */
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
    prepare: () => (options.role === 'server' ? store.upkeep.beat() : store.upkeep.watch()),
    async start() {
      if (options.isAlone) {
        await store.outbox.takeOverLeases()
        runs.runsEnded(await store.runs.takeOverExecutors())
      }
      const inOrder =
        options.role === 'server'
          ? [intake, ...background, atOnce(catchUp), ...publishing]
          : [...background, ...publishing]
      for (const loop of inOrder) loop.start()
      if (work !== null) work.start()
      else
        engine.listen([], { runAvailable: () => Promise.resolve(undefined), runsLost: runs.lost })
    },
    stopWork: async (graceMs) => (await work?.stop(graceMs)) ?? 0,
    async catchUpOnce() {
      intake.start()
      try {
        return await catchUp.now()
      } finally {
        await stopIntake()
        await runs.idle()
        await runs.stop()
        await options.engine.stop()
      }
    },
    async stop() {
      await work?.stop(0)
      await stopIntake()
      await Promise.all([...background, ...publishing, runs].map((part) => part.stop()))
      await engine.stop()
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
  const { store, log, retention, role } = options
  const of = (loop: LoopName) => ({ store, log, scheduler: timersOf(options, loop) })
  const serves = role === 'server'
  const onSwept = (swept: readonly Run[]): void => runs.runsEnded(swept)
  const shared = [
    createAuditNumbering(of('audit')),
    createSweeper({ ...of('sweeper'), serves, onSwept }),
    atOnce(createReconciler(of('reconciler'))),
  ]
  if (!serves) return shared
  return [createPulse(of('pulse')), ...shared, atOnce(createPurger({ ...of('purger'), retention }))]
}

function openWork(options: NodeOptions, work: NodeWork, runs: RunsService): WorkLoop {
  const { engine } = options
  return createWorkLoop({
    ...options,
    ...work,
    runs,
    scheduler: timersOf(options, 'work'),
    pollMs: pollMs[engine.name],
    silenceMs: options.isAlone && options.role === 'server' ? silenceMsMax : null,
  })
}

function timersOf(options: NodeOptions, loop: LoopName): Scheduler {
  return options.schedulerFor?.(loop) ?? options.scheduler
}

/** Makes the loop run its first pass at once, and then by its timer. */
function atOnce(loop: Loop & { kick(): Promise<void> }): Loop {
  return {
    start() {
      loop.start()
      void loop.kick()
    },
    stop: () => loop.stop(),
  }
}
