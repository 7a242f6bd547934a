/**
 * A server over the real services and a store in memory. Only time is faked: it passes when a test
 * says so.
 */
import { pino } from 'pino'
import { createAuditFeed } from '../../src/audit/feed.ts'
import { defaultRights, githubDeclarations } from '../../src/channels/github-channels.ts'
import { unannounced } from '../../src/domain/run.ts'
import { FailedAccess } from '../../src/http/access/failed-access.ts'
import { TokenWatch } from '../../src/http/access/token-watch.ts'
import type { App } from '../../src/http/app.ts'
import { createHttpServer } from '../../src/http/server.ts'
import { openIntake } from '../../src/intake/open-intake.ts'
import { noMetrics } from '../../src/metrics.ts'
import { createEmbeddedEngine } from '../../src/open-engine.ts'
import { createRuns } from '../../src/runs/create-runs.ts'
import { systemScheduler } from '../../src/scheduler.ts'
import { hashSecret } from '../../src/secrets.ts'
import { withTypeDefaults } from '../../src/settings/run-types/type-defaults.ts'
import type { Store } from '../../src/store.ts'
import { openSqlite } from '../../src/stores/open-sqlite.ts'
import { seededChance } from '../seed.ts'
import { startedAt, webhookSecret } from './fakes.ts'
import { adminToken } from './server-under-test.ts'

export interface RealServer {
  readonly server: App
  readonly store: Store
  /** Lets time pass, and does what the sweeper does. */
  readonly pass: (ms: number) => Promise<void>
  readonly close: () => Promise<void>
}

export function realServer(): RealServer {
  let now = startedAt
  const clock = { wallMs: () => now, monotonicMs: () => now - startedAt }
  const log = pino({ level: 'silent' })
  const machine = { clock, random: seededChance(), scheduler: systemScheduler }
  const store = openSqlite(
    { path: ':memory:', exclusive: true },
    { ...machine, channels: githubDeclarations },
  )
  const policyOf = (_type: string, kind: 'pull_request' | 'job') =>
    ({
      announcement: unannounced,
      onNewer: kind === 'pull_request' ? 'supersede' : 'queue',
      attempts: 3,
      timeoutMs: 3_600_000,
      pendingTimeoutMs: 3_600_000,
    }) as const
  const runs = createRuns({ ...machine, store, log, leaseMs: 60_000, policyOf, headSource: null })
  const intake = openIntake({
    ...machine,
    secrets: [webhookSecret],
    types: withTypeDefaults({}).runs,
    store,
    runs,
    github: null,
    log,
    metrics: noMetrics,
  })
  const server = createHttpServer({
    checkIsOurs: async () => undefined,
    ...machine,
    runs,
    intake: intake.intake,
    store,
    metrics: noMetrics,
    metricsPage: { contentType: 'text/plain', text: async () => '' },
    queueHealth: () => createEmbeddedEngine(systemScheduler).health(),
    auditFeed: createAuditFeed({ store, scheduler: systemScheduler, log }),
    log,
    adminTokenHash: hashSecret(adminToken),
    budgetLimits: { spacingMs: 1000, perMinute: 80, perHour: 500 },
    publishRights: () => defaultRights,
    githubTokens: { issue: () => Promise.reject(new Error('there is no GitHub')) },
    isOurHost: () => true,
    failedAccess: new FailedAccess(store, systemScheduler, log),
    trustedProxies: null,
    touchToken: () => undefined,
    tokenWatch: new TokenWatch(store, systemScheduler),
    version: '0.0.0',
    sandbox: true,
    doctor: () => Promise.resolve({ ok: true, findings: [] }),
    catchUp: () => Promise.reject(new Error('nothing to catch up with')),
  })
  return {
    server,
    store,
    async pass(ms) {
      now += ms
      for (const id of await store.runs.due(1000)) await store.runs.sweep(id)
    },
    async close() {
      await server.close()
      await intake.stop()
      await store.close()
    },
  }
}
