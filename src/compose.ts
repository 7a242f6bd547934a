/**
 * Assembles the server. It passes clock, randomness, timers and connections to every part. It loads
 * all parts, so a program that needs only the store uses open-store.ts.
 */
import type { AddressInfo } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { createAuditFeed } from './audit/feed.ts'
import { runDoctor } from './doctor/doctor.ts'
import { SetupError } from './errors.ts'
import type { PublishingRules } from './domain/outbox/schedule.ts'
import type { GitHubConnection, OwnAccount } from './github.ts'
import { createGitHub } from './github/create-github.ts'
import type { OnRenamed } from './github/repository-place.ts'
import { FailedAccess } from './http/access/failed-access.ts'
import { hostCheck } from './http/access/host-check.ts'
import { tokenToucher } from './http/access/token-touch.ts'
import { TokenWatch } from './http/access/token-watch.ts'
import { createHttpServer, listenOn } from './http/server.ts'
import type { CatchUpReport } from './intake/catch-up/catch-up-report.ts'
import { learnRename } from './learn-rename.ts'
import type { Log } from './log.ts'
import {
  givenMachine,
  inspectDatabase,
  openStore,
  systemMachine,
  type OpenStoreOptions,
  type Machine,
} from './open-store.ts'
import { noMetrics } from './metrics.ts'
import { openNode, type HoldfastNode } from './node.ts'
import type { RestoreNote } from './store/outbox-store.ts'
import { createPrometheusMetrics } from './metrics/prometheus.ts'
import type { CheckIsOurs } from './outbox/is-ours.ts'
import { createRunGitHubTokens } from './runs/github-token.ts'
import { createIdentityBlocks } from './runs/identity-blocks.ts'
import type { Runs } from './runs/runs.ts'
import { openSandbox } from './sandbox.ts'
import { hashSecret } from './secrets.ts'
import { budgetLimits } from './settings/run-types/publishing-rules.ts'
import { permissionsOf } from './settings/run-types/permissions.ts'
import { publishRights } from './settings/run-types/publish-rights.ts'
import { runPolicy } from './settings/run-types/run-policy.ts'
import type { Settings } from './settings/settings.ts'
import type { Store } from './store.ts'

export interface App {
  readonly store: Store
  readonly runs: Runs
  /** Our own account, after GitHub was first asked. Null if GitHub did not answer. */
  ownAccount(): Promise<OwnAccount | 'refused' | null>
  /** What a person must know after a restore of the database. Null if there was none. */
  restoreNote(): Promise<RestoreNote | null>
  /** Resolves when the server accepts requests. */
  listen(): Promise<{ readonly url: string }>
  /** Finishes what is in progress, then closes everything. */
  close(): Promise<void>
}

export interface ComposeOptions extends Partial<Machine> {
  readonly adminToken: string
  readonly webhookSecrets: readonly string[]
  readonly log: FastifyBaseLogger
  readonly version: string
  /** Used instead of the GitHub that the settings name. */
  readonly github?: GitHubConnection
  /** Overrides the settings and the defaults. */
  readonly publishing?: Partial<PublishingRules>
}

/** Returns null in the sandbox, because nothing is asked of its simulated GitHub. */
export function openGitHub(
  settings: Settings,
  options: Machine & {
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

/** The events that GitHub must send, so that the run types start, and end when a pull is closed. */
function eventsOf({ runs }: Settings): readonly string[] {
  const named = Object.values(runs).flatMap(({ on, rerunOn }) => Object.keys({ ...on, ...rerunOn }))
  const closes = named.some((name) => /^(pull_request|issue_comment)/.test(name))
  return [...new Set([...(closes ? ['pull_request'] : []), ...named])]
}

export async function compose(settings: Settings, options: ComposeOptions): Promise<App> {
  const machine = { ...systemMachine, ...givenMachine(options) }
  const { log, version } = options
  const metrics = createPrometheusMetrics()
  const publishing = options.publishing ?? {}
  const store = await openServedStore(settings, { ...machine, metrics, publishing, log })
  metrics.watch(store, budgetLimits(settings))
  const onAsked = (kind: string): void => metrics.githubAsked(kind)
  const onRenamed = (githubId: number, newName: string, nameUntilNow: string): void => {
    learnRename(store, githubId, newName, nameUntilNow, 'github').catch((error: unknown) => {
      log.warn({ err: error, repo: newName }, 'Could not store the new name of a repository')
    })
  }
  const { requestTimeoutMs } = store.outbox.rules
  const asking = { ...machine, fetch: globalThis.fetch, log, version, onAsked, onRenamed }
  const github = options.github ?? openGitHub(settings, { ...asking, requestTimeoutMs })
  const node = openNode({
    ...machine,
    ...nodeSettings(settings),
    ...{ store, log, metrics, ask: github, webhookSecrets: options.webhookSecrets },
    publishTo: github ?? openSandbox({ ...machine, log, version }),
  })
  const stopping = new AbortController()
  const http = openHttp(settings, options, {
    ...machine,
    ...{ store, log, metrics, github, metricsPage: metrics, stopping: stopping.signal },
    runs: node.runs,
    intake: node.intake.intake,
    catchUp: () => node.catchUp.now(),
    checkIsOurs: checkerOf(node),
  })
  return {
    store,
    runs: node.runs,
    ownAccount: () => node.intake.ownAccount(),
    restoreNote: () => store.outbox.restoreNote(),
    async listen() {
      await node.prepare()
      await listenOn(http, { host: settings.host, port: settings.port })
      await node.start()
      return { url: urlOf(http.server.address() as AddressInfo) }
    },
    async close() {
      stopping.abort()
      await http.close()
      await node.stop()
      await store.close()
    },
  }
}

/** The settings that a node needs. */
function nodeSettings(settings: Settings) {
  return {
    types: settings.runs,
    leaseMs: settings.leaseMs,
    retention: settings.retention,
    limits: budgetLimits(settings),
    imageHosts: settings.imageHosts ?? [],
    isAlone: settings.database.kind === 'sqlite',
    policyOf: (type: string, kind: 'pull_request' | 'job') => runPolicy(settings, type, kind),
  }
}

type HttpParts = Omit<Parameters<typeof createHttpServer>[0], MadeByOpenHttp> &
  Machine & {
    readonly github: ReturnType<typeof openGitHub>
    readonly store: Store
  }
type MadeByOpenHttp =
  | 'auditFeed'
  | 'adminTokenHash'
  | 'budgetLimits'
  | 'githubTokens'
  | 'publishRights'
  | 'isOurHost'
  | 'failedAccess'
  | 'trustedProxies'
  | 'touchToken'
  | 'tokenWatch'
  | 'version'
  | 'sandbox'
  | 'doctor'

function openHttp(settings: Settings, options: ComposeOptions, parts: HttpParts) {
  const { store, clock, github } = parts
  const { adminToken, version, log } = options
  return createHttpServer({
    ...parts,
    auditFeed: createAuditFeed({ store, scheduler: parts.scheduler, log }),
    adminTokenHash: hashSecret(adminToken),
    budgetLimits: budgetLimits(settings),
    publishRights: publishRights(settings),
    githubTokens: createRunGitHubTokens({
      ...parts,
      blocks: createIdentityBlocks({ store, clock }),
      permissionsOf: permissionsOf(settings),
    }),
    isOurHost: hostCheck(settings),
    failedAccess: new FailedAccess(store, parts.scheduler, log),
    trustedProxies: settings.trustedProxies,
    touchToken: tokenToucher(store, clock, log),
    tokenWatch: new TokenWatch(store, parts.scheduler),
    version,
    sandbox: settings.mode === 'sandbox',
    doctor: () =>
      runDoctor({
        settings,
        inspect: () => inspectDatabase(settings.database, { clock, readThrough: false }),
        store: () => Promise.resolve(store),
        github: () => github,
      }),
  })
}

/** A node for one-off commands. It works whether or not a server uses the same store. */
function nodeBeside(store: Store, settings: Settings, options: Parameters<typeof openGitHub>[1]) {
  const github = openGitHub(settings, options)
  return openNode({
    ...options,
    ...nodeSettings(settings),
    ...{ store, metrics: noMetrics, webhookSecrets: [], ask: github, publishTo: github },
  })
}

export async function catchUpBeside(
  store: Store,
  settings: Settings,
  options: Parameters<typeof openGitHub>[1],
): Promise<CatchUpReport> {
  return await nodeBeside(store, settings, options).catchUpOnce()
}

/** Asks GitHub whether something there belongs to a delivery, as a one-off command. */
export async function checkIsOursBeside(
  store: Store,
  settings: Settings,
  options: Parameters<typeof openGitHub>[1],
  ...args: Parameters<CheckIsOurs>
): Promise<void> {
  await checkerOf(nodeBeside(store, settings, options))(...args)
}

function checkerOf({ checkIsOurs }: HoldfastNode): CheckIsOurs {
  if (checkIsOurs !== null) return checkIsOurs
  throw new SetupError('not_checked', 'The GitHub of a sandbox exists only inside its server', {
    hint: 'Ask that server: --url http://HOST:PORT, or leave the id out.',
  })
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

/** The runs of a sandbox never reached GitHub. A live server would believe that they had. */
async function refuseOtherMode(store: Store, settings: Settings): Promise<void> {
  const mode = await store.upkeep.recordMode(settings.mode)
  if (mode === settings.mode) return
  if (mode === 'sandbox') {
    const message = 'This database is a sandbox, but the settings are for the real GitHub'
    throw new SetupError('store_mode', message, {
      hint: 'Use a new database: set another HOLDFAST_DATA_DIR or HOLDFAST_DATABASE_URL.',
    })
  }
  throw new SetupError(
    'store_mode',
    'This database was used with the real GitHub, but the settings are for a sandbox: GitHub ' +
      'credentials or GITHUB_WEBHOOK_SECRET are not set',
    { hint: 'Set them, or use a new database for the sandbox: --data-dir ./sandbox.' },
  )
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
