/**
 * The metrics for Prometheus, in their own registry: what is counted and timed while the process
 * runs, and the gauges that are read from the store.
 */
import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client'
import type { BudgetLimits } from '../domain/outbox/budget.ts'
import type { EngineHealth } from '../engine.ts'
import type { Metrics, MetricsPage } from '../metrics.ts'
import { queueGauges } from './queue-gauges.ts'
import { storeGauges, type WatchedStore } from './store-gauges.ts'

export interface PrometheusMetrics extends Metrics, MetricsPage {
  /** From now on the gauges are read from this store. `limits`: what its identities may write. */
  watch(store: WatchedStore, limits: BudgetLimits): void
  watchQueue(health: () => Promise<EngineHealth>): void
}

const seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60]
const lagSeconds = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 7200]
const sizes = [1, 2, 4, 8, 16, 32, 64, 128, 256]

export function createPrometheusMetrics(): PrometheusMetrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const gauges = storeGauges(registry)
  const queue = queueGauges(registry)
  const counted = counters(registry)
  const measured = histograms(registry)
  return {
    ...counted,
    ...measured,
    watch: (store, limits) => gauges.watch(store, limits),
    watchQueue: (health) => queue.watch(health),
    contentType: registry.contentType,
    async text() {
      await Promise.all([gauges.read(), queue.read()])
      return await registry.metrics()
    },
  }
}

type Counted =
  | 'claimed'
  | 'runEnded'
  | 'leaseLost'
  | 'webhook'
  | 'inboxPutOff'
  | 'storeRepeated'
  | 'githubAsked'
  | 'attempted'

function counters(registry: Registry): Pick<Metrics, Counted> {
  const counter = <T extends string>(name: string, help: string, labelNames: readonly T[]) =>
    new Counter({ name, help, labelNames, registers: [registry] })
  const claims = counter(
    'holdfast_claims_total',
    'Claims, by run type and reason of the decision.',
    ['type', 'reason'],
  )
  const ended = counter(
    'holdfast_runs_ended_total',
    'Runs that ended, by run type and final state.',
    ['type', 'state'],
  )
  const lost = counter(
    'holdfast_leases_lost_total',
    'Leases that holders lost because they sent no heartbeat.',
    [],
  )
  const webhooks = counter(
    'holdfast_webhooks_total',
    'Webhooks with a valid signature, by event and decision.',
    ['event', 'decision'],
  )
  const putOff = counter(
    'holdfast_inbox_put_off_total',
    'Failed tries to process a webhook, by cause.',
    ['why'],
  )
  const repeats = counter(
    'holdfast_store_repeats_total',
    'Transactions that conflicted with others: repeated (again) or given up (given_up).',
    ['what'],
  )
  const asked = counter(
    'holdfast_github_requests_total',
    'Requests to GitHub: ok, or the kind of error.',
    ['kind'],
  )
  const attempts = counter(
    'holdfast_delivery_attempts_total',
    'Attempts to send a delivery, by channel and outcome.',
    ['channel', 'outcome'],
  )
  const typeOf = boundedLabel()
  const eventOf = boundedLabel()
  const kindOf = boundedLabel()
  return {
    claimed: (type, reason) => claims.inc({ type: typeOf(type), reason }),
    runEnded: (type, state) => ended.inc({ type: typeOf(type), state }),
    leaseLost: () => lost.inc(),
    webhook: (event, decision) => webhooks.inc({ event: eventOf(event), decision }),
    inboxPutOff: (why) => putOff.inc({ why }),
    storeRepeated: (what) => repeats.inc({ what }),
    githubAsked: (kind) => asked.inc({ kind: kindOf(kind) }),
    attempted: (channel, outcome) => attempts.inc({ channel, outcome }),
  }
}

type Measured =
  'storeAnswered' | 'committedTogether' | 'httpAnswered' | 'inboxProcessed' | 'published'

function histograms(registry: Registry): Pick<Metrics, Measured> {
  const histogram = <T extends string>(
    name: string,
    help: string,
    labelNames: readonly T[],
    buckets: number[],
  ) => new Histogram({ name, help, labelNames, buckets, registers: [registry] })
  const store = histogram(
    'holdfast_store_seconds',
    'Time the store took to answer, by operation, in seconds.',
    ['verb'],
    seconds,
  )
  const together = histogram(
    'holdfast_group_commit_size',
    'Number of transactions in one commit (group) or of requests in one transaction (batch).',
    ['kind'],
    sizes,
  )
  const http = histogram(
    'holdfast_http_request_seconds',
    'Time to answer an HTTP request, in seconds. Event streams are not counted.',
    ['route', 'method', 'status'],
    seconds,
  )
  const inbox = histogram(
    'holdfast_inbox_seconds',
    'Time from receiving a webhook until it was processed, in seconds.',
    [],
    lagSeconds,
  )
  const delivery = histogram(
    'holdfast_delivery_seconds',
    'Time from wanting an output until GitHub accepted it, in seconds.',
    ['channel'],
    lagSeconds,
  )
  const methodOf = boundedLabel()
  return {
    storeAnswered: (verb, ms) => store.observe({ verb }, ms / 1000),
    committedTogether: (kind, count) => together.observe({ kind }, count),
    httpAnswered: ({ route, method, status, ms }) =>
      http.observe({ route: route ?? 'none', method: methodOf(method), status }, ms / 1000),
    inboxProcessed: (lagMs) => inbox.observe(Math.max(0, lagMs) / 1000),
    published: (channel, lagMs) => delivery.observe({ channel }, Math.max(0, lagMs) / 1000),
  }
}

const valuesMax = 50
const lengthMax = 64

/**
 * A label whose values come from outside. Each value is a time series for as long as the process
 * lives. So after the first 50 values, every other one becomes `other`.
 */
function boundedLabel(): (value: string) => string {
  const values = new Set<string>()
  return (value) => {
    if (values.has(value)) return value
    if (values.size >= valuesMax || value.length > lengthMax) return 'other'
    values.add(value)
    return value
  }
}
