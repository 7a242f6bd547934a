/**
 * The measures as Prometheus reads them, in a registry of their own: what is counted and timed
 * while the process works, and beside it what stands in the store.
 */
import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client'
import type { BudgetLimits } from '../domain/outbox/budget.ts'
import type { Metrics, MetricsPage } from '../metrics.ts'
import { boundedLabel } from './bounded-label.ts'
import { storeGauges, type WatchedStore } from './store-gauges.ts'

export interface PrometheusMetrics extends Metrics, MetricsPage {
  /** From now on the gauges are read from this store; what it writes is held against `limits`. */
  watch(store: WatchedStore, limits: BudgetLimits): void
}

const seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60]
const lagSeconds = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 7200]
const sizes = [1, 2, 4, 8, 16, 32, 64, 128, 256]

export function createPrometheusMetrics(): PrometheusMetrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const gauges = storeGauges(registry)
  const counted = counters(registry)
  const measured = histograms(registry)
  return {
    ...counted,
    ...measured,
    watch: (store, limits) => gauges.watch(store, limits),
    contentType: registry.contentType,
    async text() {
      await gauges.read()
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
  const putOff = counter(
    'holdfast_inbox_put_off_total',
    'Tries to process a webhook that failed.',
    ['why'],
  )
  const repeats = counter(
    'holdfast_store_repeats_total',
    'Transactions that met others at the same rows: tried again, or given up.',
    ['what'],
  )
  const asked = counter('holdfast_github_requests_total', 'Requests to GitHub, by outcome.', [
    'kind',
  ])
  const attempts = counter('holdfast_delivery_attempts_total', 'Attempts to publish, by outcome.', [
    'channel',
    'outcome',
  ])
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
  const delivery = histogram(
    'holdfast_delivery_seconds',
    'From when something was to be published until it was.',
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
