/**
 * The measures as Prometheus reads them, in a registry of their own. What stands still (runs by
 * state, the inbox) is read when somebody asks; a store that is away leaves those out and the rest
 * as it is.
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Metrics, MetricsPage } from '../metrics.ts'
import type { Store } from '../store.ts'
import { boundedLabel } from './bounded-label.ts'

export interface PrometheusMetrics extends Metrics, MetricsPage {
  /** From now on the gauges are read from this store. */
  watch(store: WatchedStore): void
}

export type WatchedStore = Pick<Store, 'activeRuns' | 'inboxBacklog' | 'now'>

const seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60]
const lagSeconds = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 7200]
const sizes = [1, 2, 4, 8, 16, 32, 64, 128, 256]

export function createPrometheusMetrics(): PrometheusMetrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const gauges = watchedGauges(registry)
  const counted = counters(registry)
  const measured = histograms(registry)
  return {
    ...counted,
    ...measured,
    watch: gauges.watch,
    contentType: registry.contentType,
    async text() {
      await gauges.read()
      return await registry.metrics()
    },
  }
}

type Counted = 'claimed' | 'runEnded' | 'leaseLost' | 'webhook' | 'githubAsked'

function counters(registry: Registry): Pick<Metrics, Counted> {
  const counter = <T extends string>(name: string, help: string, labelNames: readonly T[]) =>
    new Counter({ name, help, labelNames, registers: [registry] })
  const claims = counter('holdfast_claims_total', 'Claims, by what was decided.', [
    'type',
    'reason',
  ])
  const ended = counter('holdfast_runs_ended_total', 'Runs that ended, by how.', ['type', 'state'])
  const lost = counter('holdfast_leases_lost_total', 'Runs taken from a silent holder.', [])
  const webhooks = counter('holdfast_webhooks_total', 'Signed webhooks, by what was decided.', [
    'event',
    'decision',
  ])
  const asked = counter('holdfast_github_requests_total', 'Requests to GitHub, by outcome.', [
    'kind',
  ])
  const typeOf = boundedLabel()
  const eventOf = boundedLabel()
  const kindOf = boundedLabel()
  return {
    claimed: (type, reason) => claims.inc({ type: typeOf(type), reason }),
    runEnded: (type, state) => ended.inc({ type: typeOf(type), state }),
    leaseLost: () => lost.inc(),
    webhook: (event, decision) => webhooks.inc({ event: eventOf(event), decision }),
    githubAsked: (kind) => asked.inc({ kind: kindOf(kind) }),
  }
}

type Measured = 'storeAnswered' | 'committedTogether' | 'httpAnswered' | 'inboxProcessed'

function histograms(registry: Registry): Pick<Metrics, Measured> {
  const histogram = <T extends string>(
    name: string,
    help: string,
    labelNames: readonly T[],
    buckets: number[],
  ) => new Histogram({ name, help, labelNames, buckets, registers: [registry] })
  const store = histogram('holdfast_store_seconds', 'The store’s answers.', ['verb'], seconds)
  const together = histogram(
    'holdfast_group_commit_size',
    'Transactions in one commit (group), requests in one transaction (batch).',
    ['kind'],
    sizes,
  )
  const http = histogram(
    'holdfast_http_request_seconds',
    'Answers over HTTP, without event streams.',
    ['route', 'method', 'status'],
    seconds,
  )
  const inbox = histogram(
    'holdfast_inbox_seconds',
    'From a webhook’s receipt until it was processed.',
    [],
    lagSeconds,
  )
  const methodOf = boundedLabel()
  return {
    storeAnswered: (verb, ms) => store.observe({ verb }, ms / 1000),
    committedTogether: (kind, count) => together.observe({ kind }, count),
    httpAnswered: ({ route, method, status, ms }) =>
      http.observe({ route: route ?? 'none', method: methodOf(method), status }, ms / 1000),
    inboxProcessed: (lagMs) => inbox.observe(Math.max(0, lagMs) / 1000),
  }
}

function watchedGauges(registry: Registry) {
  const gauge = <T extends string>(name: string, help: string, labelNames: readonly T[] = []) =>
    new Gauge({ name, help, labelNames, registers: [registry] })
  const runs = gauge('holdfast_runs', 'Runs that have not ended.', ['state'])
  const waiting = gauge('holdfast_inbox_waiting', 'Webhooks that wait to be processed.')
  const oldest = gauge('holdfast_inbox_oldest_seconds', 'How long the oldest of them has waited.')
  let watched: WatchedStore | null = null
  const readFrom = async (store: WatchedStore): Promise<void> => {
    const [active, backlog] = await Promise.all([store.activeRuns(), store.inboxBacklog()])
    for (const [state, count] of Object.entries(active)) runs.set({ state }, count)
    waiting.set(backlog.waiting)
    const since = backlog.oldestAt ?? store.now()
    oldest.set(Math.max(0, store.now() - since) / 1000)
  }
  return {
    watch: (store: WatchedStore): void => void (watched = store),
    async read(): Promise<void> {
      try {
        if (watched !== null) await readFrom(watched)
      } catch {
        // The store's own latency tells of it; old numbers would not.
        runs.reset()
        waiting.remove()
        oldest.remove()
      }
    },
  }
}
