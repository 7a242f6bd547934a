/**
 * A GitHub to test against. It has state, can inject faults, and is reached like the real one: by
 * `fetch` inside the process or over HTTP. Tests can read every request and its effect.
 */
import { createPublicKey } from 'node:crypto'
import { systemClock } from '../../clock.ts'
import { systemRandom } from '../../random.ts'
import { systemScheduler, type Scheduler } from '../../scheduler.ts'
import { createAuthentication } from './auth.ts'
import { connectInProcess } from './connection.ts'
import { createCore } from './core.ts'
import { createReceive, type Receive } from './exchange.ts'
import { createFaultScript, type FaultScript } from './faults/script.ts'
import { createUserActions, type GitHubUserActions } from './user-actions.ts'
import {
  refuseUnknownOptions,
  type GitHubSimulatorOptions,
  type SimulatedAppOptions,
} from './options.ts'
import { createRateLimits } from './rate-limit.ts'
import type { ReceivedRequest } from './request.ts'
import { allRoutes } from './routes/all-routes.ts'
import { createRouter } from './routes/router.ts'
import { serve, type ServedSimulator, type ServeOptions } from './server.ts'
import { addAccountToken, type App } from './state/apps.ts'
import type { GitHubEvent } from './state/events.ts'
import { userNamed } from './state/users.ts'
import { createWorld, type World } from './state/world.ts'
import { createInspection, type GitHubInspection } from './inspection.ts'
import { createHookRegistry, type HookRegistry } from './webhooks/hook-registry.ts'
import { webhookRoutes } from './webhooks/webhook-routes.ts'

export interface GitHubSimulator extends GitHubUserActions, GitHubInspection {
  /** Reaches it without a socket, under any host name. */
  readonly fetch: typeof globalThis.fetch
  /** Everything received, in order of arrival. */
  readonly requests: readonly ReceivedRequest[]
  readonly faults: FaultScript
  /** How many requests were received on a route, or match a function. */
  count(which: string | ((received: ReceivedRequest) => boolean)): number
  /** Calls `observer` for every event that GitHub would send a webhook for. */
  observe(observer: (event: GitHubEvent) => void): () => void
  /** The hooks and their deliveries; `sendWebhooks` adds a hook. */
  readonly hooks: HookRegistry
  /** Connections pass their requests to this. */
  readonly receive: Receive
  readonly scheduler: Scheduler
}

export function createGitHubSimulator(options: GitHubSimulatorOptions = {}): GitHubSimulator {
  refuseUnknownOptions(options)
  const { clock = systemClock, scheduler = systemScheduler } = options
  const world = createWorld({
    clock,
    random: options.random ?? systemRandom,
    aheadMs: options.aheadMs ?? 0,
    anyCommit: options.anyCommit ?? true,
  })
  if (options.app !== undefined) world.app = readApp(world, options.app)
  const userActions = createUserActions(world)
  for (const { token, login } of options.tokens ?? []) {
    addAccountToken(world, userNamed(world, login), token)
  }
  const acceptsAny =
    options.acceptAnyToken ?? (options.tokens === undefined && options.app === undefined)
  const bot = options.tokens?.[0]?.login ?? 'holdfast-bot'
  const authentication = createAuthentication(world, acceptsAny ? userNamed(world, bot) : null)
  const limits = createRateLimits(world, options.limits ?? {})
  const router = createRouter(world)
  const hooks = createHookRegistry(world, clock, scheduler)
  router.add([...allRoutes, ...webhookRoutes(hooks)])
  const core = createCore({ world, router, authentication, limits })
  const faults = createFaultScript(router)
  const receive = createReceive({
    core,
    limits,
    scheduler,
    takeFault: (received) => faults.take(received),
    expireTokens: () => userActions.expireTokens(),
  })
  return {
    ...userActions,
    ...createInspection(world),
    fetch: connectInProcess(receive, scheduler),
    requests: core.requests,
    faults: faults.script,
    count: (which) => {
      const template = typeof which === 'string' ? router.knownTemplate(which) : null
      const matches = typeof which === 'string' ? null : which
      return core.requests.filter((each) => matches?.(each) ?? each.route === template).length
    },
    observe: (observer) => {
      world.observers.add(observer)
      return () => void world.observers.delete(observer)
    },
    hooks,
    receive,
    scheduler,
  }
}

/** The same GitHub over real HTTP, beside its own `fetch`. */
export function serveSimulator(
  github: GitHubSimulator,
  options: ServeOptions = {},
): Promise<ServedSimulator> {
  return serve(github.receive, github.scheduler, options)
}

const appPermissions = {
  checks: 'write',
  contents: 'read',
  issues: 'write',
  metadata: 'read',
  pull_requests: 'write',
  statuses: 'write',
} as const

const appEvents = ['check_run', 'issue_comment', 'issues', 'pull_request', 'push']

function readApp(world: World, given: SimulatedAppOptions): App {
  const pem = given.publicKey ?? given.privateKey
  if (pem === undefined)
    throw new Error('The option "app" needs "privateKey" or "publicKey" as PEM.')
  return {
    id: given.id,
    slug: given.slug,
    name: given.slug,
    clientId: given.clientId ?? `Iv23li${String(given.id).padStart(14, '0')}`,
    owner: userNamed(world, 'app-owner'),
    // Only the public half of a private key is used.
    publicKey: createPublicKey(pem),
    permissions: given.permissions ?? appPermissions,
    events: given.events ?? appEvents,
  }
}
