/**
 * Runs on a store without a server: for a process that claims a run, does its work and publishes
 * what belongs to it.
 *
 *   GitHub credentials  the store was     who publishes what the run shows
 *   given               a sandbox         refused: a sandbox never reached GitHub
 *   given               live, or new      the server that is active on it, else this process
 *   none                sandbox, or live  a server: the one that is active, else the next one
 *   none                new               nobody: the run announces nothing
 *
 * A job without a repository shows nothing on GitHub, so credentials do not matter for it.
 *
 * What must hold: this process publishes only for its own run. What belongs to others stays for a
 * server, because only a server sees to it until it is done.
 */
import type { FastifyBaseLogger } from 'fastify'
import type { Budget } from './domain/outbox/budget.ts'
import type { Delivery } from './domain/outbox/delivery.ts'
import { unannounced } from './domain/run.ts'
import { isActive } from './domain/served.ts'
import { SetupError } from './errors.ts'
import type { GitHubConnection } from './github.ts'
import { openOutbox } from './github-outbox/open-outbox.ts'
import { GitHubQuestions } from './intake/asking/github-questions.ts'
import { noMetrics } from './metrics.ts'
import type { Machine } from './open-store.ts'
import type { Publisher } from './outbox/publisher.ts'
import { openRunDoor, type RunDoor } from './run-door.ts'
import { createRuns, type RunsService } from './runs/create-runs.ts'
import { createSweeper } from './runs/sweeper.ts'
import { delay } from './scheduler.ts'
import { budgetLimits } from './settings/run-types/publishing-rules.ts'
import { runPolicy } from './settings/run-types/run-policy.ts'
import type { Settings } from './settings/settings.ts'
import type { Store } from './store.ts'
import type { RunSecrets } from './texts/run-secrets.ts'

export interface StandaloneOptions extends Machine {
  readonly log: FastifyBaseLogger
  readonly version: string
  /** The work belongs to a repository on GitHub. */
  readonly hasRepository: boolean
  /** Opens GitHub with the credentials of these settings, which are for the real GitHub. */
  readonly openGitHub: (settings: Settings) => Promise<GitHubConnection | null>
}

export type PublishedBy = 'this-process' | 'server' | 'next-server' | 'nobody'

export interface Standalone {
  readonly runs: RunsService
  readonly publishedBy: PublishedBy
  /** From now on, what this run shows is published, if this process does it. */
  publishFor(runId: string): void
  /** `runSecrets` are hidden in what comes through it. */
  openDoor(runSecrets: RunSecrets): Promise<RunDoor>
  /**
   * Waits until everything of the run is published, at most `ms`. It does not wait for GitHub if
   * that refuses the credentials.
   */
  published(runId: string, ms: number, signal: AbortSignal): Promise<Unpublished>
  /** Also closes the store. */
  close(): Promise<void>
}

export interface Unpublished {
  /** What is still open. */
  readonly left: readonly Delivery[]
  /** The identity that GitHub refuses, if what is left waits for that. */
  readonly refused: Pick<Budget, 'identity' | 'blockedReason'> | null
}

export async function openStandalone(
  store: Store,
  settings: Settings,
  options: StandaloneOptions,
): Promise<Standalone> {
  const { log, scheduler } = options
  const publishedBy = await publisherOf(store, settings, options.hasRepository)
  const live: Settings = { ...settings, mode: 'live' }
  const github = publishedBy === 'this-process' ? await options.openGitHub(live) : null
  // The store must know how long holders could not reach it before a run is taken from one.
  await store.upkeep.watch()
  const runs = openRuns(store, settings, options, { publishedBy, github })
  const sweeper = createSweeper({
    ...{ store, scheduler, log, serves: false },
    onSwept: (swept) => runs.runsEnded(swept),
  })
  sweeper.start()
  let publisher: Publisher | null = null
  return {
    runs,
    publishedBy,
    publishFor(onlyRunId) {
      if (github === null) return
      const limits = budgetLimits(settings)
      const imageHosts = settings.imageHosts ?? []
      const parts = { ...options, store, github, limits, imageHosts, metrics: noMetrics }
      publisher = openOutbox({ ...parts, onlyRunId })
      publisher.start()
    },
    openDoor: (runSecrets) =>
      openRunDoor(settings, { ...options, store, runs, github, runSecrets }),
    async published(runId, ms, signal) {
      const until = options.clock.monotonicMs() + (publisher === null ? 0 : ms)
      for (;;) {
        const left = await openDeliveries(store, runId)
        const refused = await refusedIdentity(store, left)
        const isOver = options.clock.monotonicMs() >= until || signal.aborted
        if (left.length === 0 || refused !== null || isOver) return { left, refused }
        await delay(scheduler, lookEveryMs, signal)
      }
    },
    async close() {
      await publisher?.stop()
      await sweeper.stop()
      await runs.stop()
      await store.close()
    },
  }
}

const lookEveryMs = 200
const listedMax = 100

async function openDeliveries(store: Store, runId: string): Promise<readonly Delivery[]> {
  const page = { limit: listedMax, cursor: null }
  return (await store.outbox.list({ runId, status: 'PENDING' }, page)).items
}

/** A refused identity is blocked, and what waits for it is due again when the block ends. */
async function refusedIdentity(
  store: Store,
  left: readonly Delivery[],
): Promise<Unpublished['refused']> {
  if (left.length === 0 || left.some(({ wait }) => wait !== 'budget')) return null
  const ends = new Set(left.map(({ dueAt }) => dueAt))
  const blocked = (await store.outbox.budgets()).find(
    ({ blockedUntil, blockedReason: why }) =>
      ends.has(blockedUntil) && (why === 'unauthorized' || why === 'not_installed'),
  )
  return blocked ?? null
}

function openRuns(
  store: Store,
  settings: Settings,
  options: StandaloneOptions,
  { publishedBy, github }: { publishedBy: PublishedBy; github: GitHubConnection | null },
): RunsService {
  const questions = github && new GitHubQuestions({ github, store, clock: options.clock })
  return createRuns({
    ...options,
    store,
    leaseMs: settings.leaseMs,
    headSource: questions,
    ...(questions !== null && { nameSource: questions }),
    policyOf: (type, kind) => {
      const policy = runPolicy(settings, type, kind)
      return publishedBy === 'nobody' ? { ...policy, announcement: unannounced } : policy
    },
  })
}

async function publisherOf(
  store: Store,
  settings: Settings,
  hasRepository: boolean,
): Promise<PublishedBy> {
  const { githubToken, githubAppId, githubPrivateKey } = settings
  const canAct = githubToken !== null || (githubAppId !== null && githubPrivateKey !== null)
  const { mode } = await store.upkeep.vitals()
  const isServed = isActive(await store.upkeep.servedAt(), store.now())
  if (!hasRepository || !canAct) {
    if (mode === null) return 'nobody'
    return isServed ? 'server' : 'next-server'
  }
  if (mode === 'sandbox' || (await store.upkeep.recordMode('live')) === 'sandbox') {
    throw new SetupError(
      'store_mode',
      'This database is a sandbox, but GitHub credentials are set, so this run would be shown on ' +
        'the real GitHub',
      {
        hint:
          'Unset GITHUB_TOKEN (or GITHUB_APP_ID and GITHUB_PRIVATE_KEY), or use another ' +
          'database: set another HOLDFAST_DATA_DIR or HOLDFAST_DATABASE_URL.',
      },
    )
  }
  return isServed ? 'server' : 'this-process'
}
