/**
 * Puts the program together. Everything it builds is handed its clock, randomness, timers and
 * connections from here. It loads every part there is, so whoever needs only the store takes
 * open-store.ts.
 */
import type { AddressInfo } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { createAuditFeed } from './audit/feed.ts'
import { createAuditPlacer } from './audit/placer.ts'
import { examineAll } from './doctor/doctor.ts'
import { SetupError } from './errors.ts'
import type { PublishingRules } from './domain/outbox/schedule.ts'
import type { GitHubConnection, OwnAccount } from './github.ts'
import { createGitHub } from './github/create-github.ts'
import type { OnRenamed } from './github/repository-place.ts'
import { FailedAccess } from './http/failed-access.ts'
import { hostCheck } from './http/host-check.ts'
import { tokenToucher } from './http/token-touch.ts'
import { TokenWatch } from './http/token-watch.ts'
import { createHttpServer } from './http/server.ts'
import type { CatchUpReport } from './intake/catch-up-report.ts'
import { createCatchUp } from './intake/catch-up.ts'
import { GitHubQuestions } from './intake/github-questions.ts'
import { openIntake } from './intake/open-intake.ts'
import { learnRename } from './learn-rename.ts'
import type { Log } from './log.ts'
import {
  definedSeams,
  lookAtDatabase,
  openStore,
  systemSeams,
  type OpenStoreOptions,
  type Seams,
} from './open-store.ts'
import { openIsOurs, openOutbox } from './outbox/open-outbox.ts'
import { noMetrics } from './metrics.ts'
import type { RestoreNote } from './store/outbox-store.ts'
import { createPrometheusMetrics } from './metrics/prometheus.ts'
import type { CheckIsOurs } from './outbox/is-ours.ts'
import { createReconciler } from './outbox/reconciler.ts'
import { createRuns, type RunsService } from './runs/create-runs.ts'
import { createPulse } from './runs/pulse.ts'
import { createPurger } from './runs/purge.ts'
import type { Runs } from './runs/runs.ts'
import { createSweeper } from './runs/sweeper.ts'
import type { Scheduler } from './scheduler.ts'
import { openSandbox } from './sandbox.ts'
import { hashSecret } from './secrets.ts'
import { budgetLimits } from './settings/budget-limits.ts'
import { publishRights } from './settings/publish-rights.ts'
import { runPolicy } from './settings/run-policy.ts'
import type { Settings } from './settings/settings.ts'
import type { Store } from './store.ts'

export interface App {
  readonly store: Store
  readonly runs: Runs
  /** Who we act as, once GitHub was asked; null when it did not say. */
  ownAccount(): Promise<OwnAccount | 'refused' | null>
  /** What follows from a restore of the database; null when there was none. */
  restoreNote(): Promise<RestoreNote | null>
  /** Takes requests; resolves when it does. */
  listen(): Promise<{ readonly url: string }>
  /** Finishes what is in hand, then lets go of everything. */
  close(): Promise<void>
}

export interface ComposeOptions extends Partial<Seams> {
  readonly adminToken: string
  readonly webhookSecrets: readonly string[]
  readonly log: FastifyBaseLogger
  readonly version: string
  /** Stands in for GitHub; else it is asked as the settings say. */
  readonly github?: GitHubConnection
  /** Where it differs from what the settings and the defaults say. */
  readonly publishing?: Partial<PublishingRules>
}

/** Null in the sandbox, whose simulated GitHub is only published to. */
export function openGitHub(
  settings: Settings,
  options: Seams & {
    readonly fetch: typeof globalThis.fetch
    readonly log: Log
    readonly version: string
    readonly onAsked?: (kind: string) => void
    readonly onRenamed?: OnRenamed
    readonly requestTimeoutMs?: number
  },
): GitHubConnection | null {
  const { mode, githubAppId: appId, githubPrivateKey: privateKey, githubToken: token } = settings
  if (mode === 'sandbox') return null
  const { publicUrl, githubApiUrl: apiUrl } = settings
  const app = appId !== null && privateKey !== null ? { appId, privateKey } : null
  return createGitHub({
    ...options,
    apiUrl,
    publicUrl,
    events: eventsOf(settings),
    credentials: app ?? { token: token ?? '' },
  })
}

/** What GitHub has to send for the configured types to start, and to end with a closed one. */
function eventsOf({ runs }: Settings): readonly string[] {
  const named = Object.values(runs).flatMap(({ on, rerunOn }) => Object.keys({ ...on, ...rerunOn }))
  const closes = named.some((name) => /^(pull_request|issue_comment)/.test(name))
  return [...new Set([...(closes ? ['pull_request'] : []), ...named])]
}

export async function compose(settings: Settings, options: ComposeOptions): Promise<App> {
  const seams = { ...systemSeams, ...definedSeams(options) }
  const { scheduler, clock } = seams
  const { log, version } = options
  const metrics = createPrometheusMetrics()
  const publishing = options.publishing ?? {}
  const store = await openServedStore(settings, { ...seams, metrics, publishing, log })
  metrics.watch(store, budgetLimits(settings))
  const onAsked = (kind: string): void => metrics.githubAsked(kind)
  const onRenamed = (githubId: number, newName: string, nameUntilNow: string): void => {
    learnRename(store, githubId, newName, nameUntilNow, 'github').catch((error: unknown) => {
      log.warn({ err: error, repo: newName }, 'could not learn a repository’s new name')
    })
  }
  const { requestTimeoutMs } = store.outbox.rules
  const asking = { ...seams, fetch: globalThis.fetch, log, version, onAsked, onRenamed }
  const github = options.github ?? openGitHub(settings, { ...asking, requestTimeoutMs })
  const connection = github ?? openSandbox({ ...seams, log, version })
  const questions = new GitHubQuestions({ github: connection, store, clock })
  const runs = createRuns({
    ...seams,
    ...{ store, log, leaseMs: settings.leaseMs },
    policyOf: (type, kind) => runPolicy(settings, type, kind),
    headSource: github && questions,
    nameSource: questions,
  })
  const loops = createLoops({ store, runs, scheduler, log, retention: settings.retention })
  const shared = { ...seams, store, runs, log, metrics, types: settings.runs }
  const intake = openIntake({ ...shared, secrets: options.webhookSecrets, github })
  const catchUp = createCatchUp({ ...shared, intake, github })
  const published = { ...shared, github: connection, ...publishingSettings(settings) }
  const publisher = openOutbox(published)
  const stopping = new AbortController()
  const http = openDoor(settings, options, {
    ...shared,
    intake: intake.intake,
    catchUp: () => catchUp.now(),
    checkIsOurs: openIsOurs(published),
    metricsPage: metrics,
    github,
    stopping: stopping.signal,
  })
  return {
    store,
    runs,
    ownAccount: () => intake.ownAccount(),
    restoreNote: () => store.outbox.restoreNote(),
    async listen() {
      // Before anything may be taken from a holder, know how long they could not reach us.
      await store.upkeep.beat()
      await http.listen({ host: settings.host, port: settings.port })
      // Whoever held this file before us is gone, and what it sent without an answer is in doubt.
      if (settings.database.kind === 'sqlite') await store.outbox.takeOverLeases()
      intake.start()
      loops.start()
      catchUp.start()
      void catchUp.kick()
      publisher.start()
      return { url: urlOf(http.server.address() as AddressInfo) }
    },
    async close() {
      stopping.abort()
      await http.close()
      await catchUp.stop()
      await intake.stop()
      await Promise.all([loops.stop(), runs.stop(), publisher.stop()])
      await store.close()
    },
  }
}

type DoorParts = Omit<Parameters<typeof createHttpServer>[0], MadeForTheDoor> &
  Seams & {
    readonly github: ReturnType<typeof openGitHub>
    readonly store: Store
  }
type MadeForTheDoor =
  | 'auditFeed'
  | 'adminTokenHash'
  | 'budgetLimits'
  | 'publishRights'
  | 'isOurHost'
  | 'failedAccess'
  | 'trustedProxies'
  | 'touchToken'
  | 'tokenWatch'
  | 'version'
  | 'sandbox'
  | 'doctor'

function openDoor(settings: Settings, options: ComposeOptions, parts: DoorParts) {
  const { store, clock, github } = parts
  const { adminToken, version, log } = options
  return createHttpServer({
    ...parts,
    auditFeed: createAuditFeed({ store, scheduler: parts.scheduler, log }),
    adminTokenHash: hashSecret(adminToken),
    budgetLimits: budgetLimits(settings),
    publishRights: publishRights(settings),
    isOurHost: hostCheck(settings),
    failedAccess: new FailedAccess(store, parts.scheduler, log),
    trustedProxies: settings.trustedProxies,
    touchToken: tokenToucher(store, clock, log),
    tokenWatch: new TokenWatch(store, parts.scheduler),
    version,
    sandbox: settings.mode === 'sandbox',
    doctor: () =>
      examineAll({
        settings,
        look: () => lookAtDatabase(settings.database, { clock, readThrough: false }),
        store: () => Promise.resolve(store),
        github: () => github,
      }),
  })
}

/** One pass of catch-up beside whoever serves the store, or while nobody does. */
export async function catchUpBeside(
  store: Store,
  settings: Settings,
  options: Parameters<typeof openGitHub>[1],
): Promise<CatchUpReport> {
  const github = openGitHub(settings, options)
  const runs = createRuns({
    ...options,
    store,
    leaseMs: settings.leaseMs,
    policyOf: (type, kind) => runPolicy(settings, type, kind),
    headSource: github && new GitHubQuestions({ github, store, clock: options.clock }),
  })
  const shared = { ...options, store, runs, metrics: noMetrics, github, types: settings.runs }
  const intake = openIntake({ ...shared, secrets: [] })
  const catchUp = createCatchUp({ ...shared, intake })
  intake.start()
  try {
    return await catchUp.now()
  } finally {
    await catchUp.stop()
    await intake.stop()
    await runs.settled()
    await runs.stop()
  }
}

function publishingSettings(settings: Settings) {
  return { imageHosts: settings.imageHosts ?? [], limits: budgetLimits(settings) }
}

/** Asks GitHub, beside whoever serves the store, whether something there is a delivery's own. */
export async function checkIsOursBeside(
  store: Store,
  settings: Settings,
  options: Parameters<typeof openGitHub>[1],
  ...asked: Parameters<CheckIsOurs>
): Promise<void> {
  const github = openGitHub(settings, options)
  if (github === null) {
    throw new SetupError('not_checked', "A sandbox's GitHub exists only inside its server", {
      hint: 'Ask that server: --url http://HOST:PORT, or leave the id out.',
    })
  }
  const { clock } = options
  await openIsOurs({ store, github, clock })(...asked)
}

async function openServedStore(settings: Settings, options: OpenStoreOptions): Promise<Store> {
  const store = await openStore(settings, { ...options, exclusive: true })
  try {
    await refuseOtherMode(store, settings)
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

interface LoopOptions {
  readonly store: Store
  readonly runs: RunsService
  readonly scheduler: Scheduler
  readonly log: Log
  readonly retention: Settings['retention']
}

/** What a server does on its own. */
function createLoops({ store, runs, scheduler, log, retention }: LoopOptions) {
  const purger = createPurger({ store, scheduler, log, retention })
  const reconciler = createReconciler({ store, scheduler, log })
  const loops = [
    createPulse({ store, scheduler, log }),
    createAuditPlacer({ store, scheduler, log }),
    createSweeper({
      store,
      scheduler,
      log,
      serves: true,
      onSwept: (swept) => runs.announceSwept(swept),
    }),
    purger,
    reconciler,
  ]
  return {
    start(): void {
      for (const loop of loops) loop.start()
      void purger.kick()
      void reconciler.kick()
    },
    stop: () => Promise.all(loops.map((loop) => loop.stop())),
  }
}

/** A sandbox's runs never reached GitHub: going live on top of them would believe they had. */
async function refuseOtherMode(store: Store, settings: Settings): Promise<void> {
  const mode = await store.upkeep.recordMode(settings.mode)
  if (mode === settings.mode) return
  const remedy =
    mode === 'sandbox'
      ? 'Use another HOLDFAST_DATABASE_URL or HOLDFAST_DATA_DIR for the live store.'
      : 'Give the GitHub credentials and GITHUB_WEBHOOK_SECRET it was used with, or another store.'
  throw new SetupError(
    'store_mode',
    `this store is ${mode}, but the settings say ${settings.mode}`,
    {
      hint: remedy,
    },
  )
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
