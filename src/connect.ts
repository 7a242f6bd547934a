/**
 * What every process that works on a store opens first: the store, in the right mode, the engine,
 * and the GitHub that the settings name. The server and `holdfast worker` are built on it.
 */
import type { PublishingRules } from './domain/outbox/schedule.ts'
import type { GitHubPermissions } from './domain/github-permissions.ts'
import type { Engine } from './engine.ts'
import { SetupError } from './errors.ts'
import type { GitHubConnection } from './github.ts'
import { createGitHub } from './github/create-github.ts'
import type { OnRenamed } from './github/repository-place.ts'
import { learnRename } from './learn-rename.ts'
import type { Log } from './log.ts'
import type { PrometheusMetrics } from './metrics/prometheus.ts'
import { createPrometheusMetrics } from './metrics/prometheus.ts'
import { openEngine } from './open-engine.ts'
import { givenMachine, openStore, systemMachine } from './open-store.ts'
import type { Machine, OpenStoreOptions } from './open-store.ts'
import { permissionsOf } from './settings/run-types/permissions.ts'
import { budgetLimits } from './settings/run-types/publishing-rules.ts'
import { runPolicy } from './settings/run-types/run-policy.ts'
import { executedTypes, type Settings } from './settings/settings.ts'
import type { Store } from './store.ts'

export interface ConnectOptions extends Partial<Machine> {
  readonly log: Log
  readonly version: string
  /** Used instead of the GitHub that the settings name. */
  readonly github?: GitHubConnection
  /** Overrides the settings and the defaults. */
  readonly publishing?: Partial<PublishingRules>
}

export interface Connected {
  readonly machine: Machine
  readonly store: Store
  readonly engine: Engine
  readonly metrics: PrometheusMetrics
  /** Null in the sandbox. */
  readonly github: GitHubConnection | null
}

export async function connect(settings: Settings, options: ConnectOptions): Promise<Connected> {
  const machine = { ...systemMachine, ...givenMachine(options) }
  const { log, version, publishing = {} } = options
  const metrics = createPrometheusMetrics()
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
  const storeId = (): Promise<string> => store.upkeep.storeId()
  const engine = await openEngine(settings, { ...machine, log, storeId })
  metrics.watchQueue(() => engine.health())
  return { machine, store, engine, metrics, github }
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
    runPermissions: runPermissionsOf(settings),
    credentials: app ?? { token: token ?? '' },
  })
}

/** The events that GitHub must send, so that the run types start, and end when a pull is closed. */
function eventsOf({ runs }: Settings): readonly string[] {
  const named = Object.values(runs).flatMap(({ on, rerunOn }) => Object.keys({ ...on, ...rerunOn }))
  const closes = named.some((name) => /^(pull_request|issue_comment)/.test(name))
  return [...new Set([...(closes ? ['pull_request'] : []), ...named])]
}

function runPermissionsOf(settings: Settings): Readonly<Record<string, GitHubPermissions>> {
  const of = permissionsOf(settings)
  return Object.fromEntries(Object.keys(settings.runs).map((type) => [type, of(type)]))
}

/** The settings that a node needs. */
export function nodeSettings(settings: Settings) {
  return {
    types: settings.runs,
    executedTypes: executedTypes(settings),
    leaseMs: settings.leaseMs,
    retention: settings.retention,
    limits: budgetLimits(settings),
    imageHosts: settings.imageHosts ?? [],
    isAlone: settings.database.kind === 'sqlite',
    policyOf: (type: string, kind: 'pull_request' | 'job') => runPolicy(settings, type, kind),
  }
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
