/**
 * A door for the programs that do the work of runs: HTTP on this machine's loopback address, with
 * the routes of a server, for run tokens only. A process that works on runs without a server opens
 * one, so that a command can report, publish and complete as it does with a server.
 *
 * What must hold: a run token reaches its own run, and nothing else. No other token opens this
 * door, not even the admin's, because every user of the machine can connect to it. It takes no
 * webhooks.
 */
import type { AddressInfo } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { createAuditFeed } from './audit/feed.ts'
import { SetupError } from './errors.ts'
import { FailedAccess } from './http/access/failed-access.ts'
import { hostCheck } from './http/access/host-check.ts'
import { tokenToucher } from './http/access/token-touch.ts'
import { TokenWatch } from './http/access/token-watch.ts'
import { createHttpServer, listenOn } from './http/server.ts'
import type { GitHubConnection } from './github.ts'
import { noMetrics } from './metrics.ts'
import type { Machine } from './open-store.ts'
import { createRunGitHubTokens } from './runs/github-token.ts'
import { createIdentityBlocks } from './runs/identity-blocks.ts'
import type { Runs } from './runs/runs.ts'
import { permissionsOf } from './settings/run-types/permissions.ts'
import { budgetLimits } from './settings/run-types/publishing-rules.ts'
import { publishRights } from './settings/run-types/publish-rights.ts'
import type { Settings } from './settings/settings.ts'
import type { Store } from './store.ts'
import type { RunSecrets } from './texts/run-secrets.ts'

const host = '127.0.0.1'

export interface RunDoor {
  readonly url: string
  /** Answers what is in progress, then closes. */
  close(): Promise<void>
}

export interface RunDoorParts extends Machine {
  readonly store: Store
  /** The same that leases the runs, so that a change through the door is noticed at once. */
  readonly runs: Runs
  readonly log: FastifyBaseLogger
  readonly version: string
  /** For GitHub tokens of runs. Null if this process does not reach GitHub. */
  readonly github: GitHubConnection | null
  /** Of the commands that this process executes. */
  readonly runSecrets?: RunSecrets
}

export async function openRunDoor(settings: Settings, parts: RunDoorParts): Promise<RunDoor> {
  const { store, clock, scheduler, log } = parts
  const stopping = new AbortController()
  const http = createHttpServer({
    ...parts,
    adminTokenHash: null,
    auditFeed: createAuditFeed({ store, scheduler, log }),
    budgetLimits: budgetLimits(settings),
    publishRights: publishRights(settings),
    githubTokens: createRunGitHubTokens({
      ...parts,
      blocks: createIdentityBlocks({ store, clock }),
      permissionsOf: permissionsOf(settings),
    }),
    queueHealth: notHere,
    isOurHost: hostCheck({ host, publicUrl: null }),
    failedAccess: new FailedAccess(store, scheduler, log),
    trustedProxies: null,
    touchToken: tokenToucher(store, clock, log),
    tokenWatch: new TokenWatch(store, scheduler),
    metrics: noMetrics,
    metricsPage: { contentType: 'text/plain', text: notHere },
    sandbox: settings.mode === 'sandbox',
    stopping: stopping.signal,
    intake: { isSigned: () => false, receive: notHere, replay: notHere },
    catchUp: notHere,
    checkIsOurs: notHere,
    doctor: notHere,
  })
  await listenOn(http, { host, port: 0 })
  const { port } = http.server.address() as AddressInfo
  return {
    url: `http://${host}:${port}`,
    async close() {
      stopping.abort()
      await http.close()
    },
  }
}

/** What no run token may ask for. The routes refuse it before this is called. */
function notHere(): Promise<never> {
  const message = 'Only a server does this; here only run tokens are accepted'
  return Promise.reject(new SetupError('not_a_server', message))
}
