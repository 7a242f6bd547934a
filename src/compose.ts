/**
 * Assembles the server. It passes clock, randomness, timers and connections to every part. It loads
 * all parts, so a program that needs only the store uses open-store.ts.
 */
import type { AddressInfo } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { createAuditFeed } from './audit/feed.ts'
import { runDoctor } from './doctor/doctor.ts'
import type { EngineHealth } from './engine.ts'
import { SetupError } from './errors.ts'
import { connect, nodeSettings, openGitHub, type ConnectOptions } from './connect.ts'
import type { OwnAccount } from './github.ts'
import { FailedAccess } from './http/access/failed-access.ts'
import { hostCheck } from './http/access/host-check.ts'
import { tokenToucher } from './http/access/token-touch.ts'
import { TokenWatch } from './http/access/token-watch.ts'
import { createHttpServer, listenOn } from './http/server.ts'
import type { CatchUpReport } from './intake/catch-up/catch-up-report.ts'
import { openWork } from './open-work.ts'
import type { Environment } from './settings/environment.ts'
import { inspectDatabase, type Machine } from './open-store.ts'
import { noMetrics } from './metrics.ts'
import { createEmbeddedEngine } from './open-engine.ts'
import { openNode, type HoldfastNode } from './node.ts'
import type { RestoreNote } from './store/outbox-store.ts'
import type { CheckIsOurs } from './outbox/is-ours.ts'
import { createRunGitHubTokens } from './runs/github-token.ts'
import { createIdentityBlocks } from './runs/identity-blocks.ts'
import type { Runs } from './runs/runs.ts'
import { openSandbox } from './sandbox.ts'
import { hashSecret } from './secrets.ts'
import { budgetLimits } from './settings/run-types/publishing-rules.ts'
import { permissionsOf } from './settings/run-types/permissions.ts'
import { publishRights } from './settings/run-types/publish-rights.ts'
import type { Settings } from './settings/settings.ts'
import type { Store } from './store.ts'
import { RunSecrets } from './texts/run-secrets.ts'

export interface App {
  readonly store: Store
  readonly runs: Runs
  /** Our own account, after GitHub was first asked. Null if GitHub did not answer. */
  ownAccount(): Promise<OwnAccount | 'refused' | null>
  /** What a person must know after a restore of the database. Null if there was none. */
  restoreNote(): Promise<RestoreNote | null>
  /** Resolves when the server accepts requests. */
  listen(): Promise<{ readonly url: string }>
  /**
   * Finishes what is in progress, then closes everything. Runs that this process executes have
   * `graceMs` to end; then they are stopped and given back. Returns how many they were.
   */
  close(graceMs?: number): Promise<number>
}

export interface ComposeOptions extends ConnectOptions {
  readonly adminToken: string
  readonly webhookSecrets: readonly string[]
  readonly log: FastifyBaseLogger
  /** The environment that commands get their variables from. Default: none. */
  readonly env?: Environment
  /** The functions of one run type never settle: the process should end. */
  readonly onStuck?: (type: string) => void
}

export async function compose(settings: Settings, options: ComposeOptions): Promise<App> {
  const { log, version } = options
  const { machine, store, engine, metrics, github } = await connect(settings, options)
  const queueHealth = (): Promise<EngineHealth> => engine.health()
  const door = { url: '' }
  const publishTo = github ?? openSandbox({ ...machine, log, version })
  const runSecrets = new RunSecrets()
  const work = await openWork(settings, {
    ...{ ...options, ...machine, store, github: publishTo, runSecrets },
    url: () => door.url,
  })
  const node = openNode({
    ...machine,
    ...nodeSettings(settings),
    ...{ store, engine, log, metrics, ask: github, webhookSecrets: options.webhookSecrets },
    publishTo,
    role: 'server',
    work: work?.work ?? null,
  })
  const stopping = new AbortController()
  const http = openHttp(settings, options, {
    ...machine,
    ...{ store, log, metrics, github, metricsPage: metrics, stopping: stopping.signal },
    runSecrets,
    queueHealth,
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
      const address = http.server.address() as AddressInfo
      door.url = urlOf(reachable(address))
      await node.start()
      return { url: urlOf(address) }
    },
    async close(graceMs = 0) {
      stopping.abort()
      // Commands still report over HTTP, and webhooks are still stored.
      const cutOff = await node.stopWork(graceMs)
      await work?.close()
      await http.close()
      await node.stop()
      await store.close()
      return cutOff
    },
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
        queue: parts.queueHealth,
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
    ...{ engine: createEmbeddedEngine(options.scheduler), role: 'server', work: null },
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
  const node = nodeBeside(store, settings, options)
  // Of an unknown delivery or one that was sent, the confirmation itself says so.
  if (node.checkIsOurs === null && !(await isOpenDelivery(store, args[0]))) return
  await checkerOf(node)(...args)
}

async function isOpenDelivery(store: Store, id: string): Promise<boolean> {
  const status = (await store.outbox.deliveryWithPlace(id))?.delivery.status
  return status !== undefined && status !== 'SENT'
}

function checkerOf({ checkIsOurs }: HoldfastNode): CheckIsOurs {
  if (checkIsOurs !== null) return checkIsOurs
  throw new SetupError('not_checked', 'The GitHub of a sandbox exists only inside its server', {
    hint: 'Ask that server: --url http://HOST:PORT, or leave the id out.',
  })
}

/** For programs on this machine: a server that listens everywhere is reached by loopback. */
function reachable(listening: AddressInfo): AddressInfo {
  const loopback = { '0.0.0.0': '127.0.0.1', '::': '::1' }[listening.address]
  return { ...listening, address: loopback ?? listening.address }
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}
