/** What the HTTP layer gets from outside. It opens no store and takes no time or randomness. */
import type { FastifyBaseLogger } from 'fastify'
import type { Clock } from '../clock.ts'
import type { EngineHealth } from '../engine.ts'
import type { Intake } from '../intake/intake.ts'
import type { Metrics, MetricsPage } from '../metrics.ts'
import type { OperationPorts, OperationStore } from '../operations/ports.ts'
import type { Scheduler } from '../scheduler.ts'
import type { Store } from '../store.ts'
import type { FailedAccess } from './access/failed-access.ts'
import type { IsOurHost } from './access/host-check.ts'
import type { TouchToken } from './access/token-touch.ts'
import type { TokenWatch } from './access/token-watch.ts'

export interface HttpDeps extends OperationPorts {
  readonly store: HttpStore
  readonly intake: Intake
  /** `hashSecret` of the admin token. Null: this door accepts run tokens, and no others. */
  readonly adminTokenHash: string | null
  /** Whether a `Host` header names this server. */
  readonly isOurHost: IsOurHost
  readonly failedAccess: FailedAccess
  /** Addresses and ranges of proxies whose X-Forwarded-For header is trusted. */
  readonly trustedProxies: readonly string[] | null
  /** Stores that a token was used. No request waits for it. */
  readonly touchToken: TouchToken
  /** Ends the open requests of a token that ends. */
  readonly tokenWatch: TokenWatch
  readonly metrics: Metrics
  readonly metricsPage: MetricsPage
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly log: FastifyBaseLogger
  readonly version: string
  /** Whether the queue can be used. Never rejects. */
  readonly queueHealth: () => Promise<EngineHealth>
  readonly sandbox: boolean
  /** Aborts before `close`: long-polls are answered early, and connections are closed. */
  readonly stopping?: AbortSignal
}

export type HttpStore = OperationStore & Pick<Store, 'ping'>
