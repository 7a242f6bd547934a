import { beforeEach, describe, expect, it } from 'vitest'
import type { Budget } from '../domain/outbox/budget.ts'
import { newBudget, takeWrite } from '../domain/outbox/budget.ts'
import type { OutboxBacklog } from '../store/outbox-store.ts'
import type { InboxBacklog } from '../store.ts'
import { createPrometheusMetrics, type PrometheusMetrics } from './prometheus.ts'

let metrics: PrometheusMetrics
beforeEach(() => {
  metrics = createPrometheusMetrics()
})

const lines = async (name: string): Promise<string[]> =>
  (await metrics.text()).split('\n').filter((line) => line.startsWith(name))

const store = {
  runs: { countActive: async () => ({ pending: 3, running: 2, waiting: 0 }) },
  inbox: { backlog: async () => ({ ...noBacklog, waiting: 4, oldestAt: 1000, failed: 3 }) },
  now: () => 6000,
  catchUp: {
    backlog: async () => ({
      headChecks: { count: 2, more: false, oldestAt: 1000 },
      deliveriesUnread: true,
      deliveriesUnfetched: [],
    }),
  },
  outbox: {
    backlog: async () => backlog,
    budgets: async () => [budget('app:1', 5000), budget('app:2', 66_000)],
  },
}

const noBacklog: InboxBacklog = {
  waiting: 0,
  oldestAt: null,
  postponed: 0,
  mostTried: null,
  failed: 0,
  lastFailed: null,
}

const limits = { spacingMs: 1000, perMinute: 80, perHour: 500 }

const backlog: OutboxBacklog = {
  open: { due: 2, order: 0, leased: 1, backoff: 0, budget: 3, in_doubt: 1, held: 0, no_address: 0 },
  oldestAt: 2000,
  oldest: [],
  failed: 5,
  oldestFailed: [],
  unreported: [
    {
      runId: 'run_1',
      deliveryId: 'dlv_1',
      channel: 'github-status',
      status: 'FAILED',
      wait: null,
      since: 3000,
      reason: 'forbidden',
    },
  ],
  unreportedCount: 7,
}

function budget(identity: string, blockedUntil: number): Budget {
  const written = takeWrite(newBudget(identity, 5000), limits, 'first', 5000)
  if (!written.granted) throw new Error('a new budget grants its first write')
  return { ...written.budget, blockedUntil }
}

it('every metric is shown under its name', async () => {
  metrics.watch(store, limits)
  metrics.claimed('review', 'new')
  metrics.claimed('review', 'new')
  metrics.runEnded('review', 'failed')
  metrics.leaseLost()
  metrics.storeAnswered('claimRun', 3)
  metrics.committedTogether('group', 7)
  metrics.storeRepeated('given_up')
  metrics.inboxPutOff('contended')
  metrics.httpAnswered({ route: '/v1/runs', method: 'POST', status: 201, ms: 30 })
  metrics.webhook('pull_request', 'accepted')
  metrics.inboxProcessed(250)
  metrics.githubAsked('ok')
  metrics.attempted('github-comment', 'sent')
  metrics.published('github-comment', 400)
  const text = await metrics.text()
  for (const line of [
    'holdfast_claims_total{type="review",reason="new"} 2',
    'holdfast_runs_ended_total{type="review",state="failed"} 1',
    'holdfast_leases_lost_total 1',
    'holdfast_store_seconds_bucket{le="0.005",verb="claimRun"} 1',
    'holdfast_group_commit_size_bucket{le="8",kind="group"} 1',
    'holdfast_http_request_seconds_count{route="/v1/runs",method="POST",status="201"} 1',
    'holdfast_webhooks_total{event="pull_request",decision="accepted"} 1',
    'holdfast_inbox_seconds_sum 0.25',
    'holdfast_github_requests_total{kind="ok"} 1',
    'holdfast_runs{state="pending"} 3',
    'holdfast_inbox_waiting 4',
    'holdfast_inbox_oldest_seconds 5',
    'holdfast_delivery_attempts_total{channel="github-comment",outcome="sent"} 1',
    'holdfast_delivery_seconds_sum{channel="github-comment"} 0.4',
    'holdfast_deliveries_open{wait="budget"} 3',
    'holdfast_deliveries_open{wait="held"} 0',
    'holdfast_deliveries_oldest_seconds 4',
    'holdfast_inbox_failed 3',
    'holdfast_head_checks_waiting 2',
    'holdfast_head_checks_oldest_seconds 5',
    'holdfast_catchup_webhooks_unread 1',
    'holdfast_inbox_put_off_total{why="contended"} 1',
    'holdfast_store_repeats_total{what="given_up"} 1',
    'holdfast_deliveries_failed 5',
    'holdfast_runs_unreported 7',
    'holdfast_runs_unreported_oldest_seconds 3',
    'holdfast_budget_writes{identity="app:1",window="hour"} 1',
    'holdfast_budget_limit{window="minute"} 80',
    'holdfast_budget_blocked_seconds{identity="app:1"} 0',
    'holdfast_budget_blocked_seconds{identity="app:2"} 60',
  ]) {
    expect(text.split('\n')).toContain(line)
  }
  expect(text).toContain('process_cpu_seconds_total')
  expect(metrics.contentType).toContain('text/plain')
})

it('blocked identities are shown, however many others have written later', async () => {
  const others = Array.from({ length: 60 }, (_, i) => ({
    ...budget(`app:${i + 10}`, 0),
    updatedAt: 5001,
  }))
  const budgets = async () => [...others, budget('app:2', 66_000)]
  metrics.watch({ ...store, outbox: { ...store.outbox, budgets } }, limits)
  const shown = await lines('holdfast_budget_blocked_seconds{')
  expect(shown).toContain('holdfast_budget_blocked_seconds{identity="app:2"} 60')
  expect(shown).toHaveLength(50)
})

it('the metrics have their own registry', async () => {
  metrics.leaseLost()
  expect(await createPrometheusMetrics().text()).toContain('holdfast_leases_lost_total 0')
})

it('an empty inbox has no oldest webhook and no negative age', async () => {
  metrics.watch({ ...store, inbox: { backlog: async () => noBacklog } }, limits)
  expect(await lines('holdfast_inbox_oldest_seconds')).toEqual(['holdfast_inbox_oldest_seconds 0'])
})

describe('a store that is down', () => {
  it('leaves its gauges out, and all others unchanged', async () => {
    let isAway = false
    const countActive = async () => {
      if (isAway) throw new Error('away')
      return store.runs.countActive()
    }
    metrics.watch({ ...store, runs: { countActive } }, limits)
    expect(await lines('holdfast_runs{')).toHaveLength(3)
    isAway = true
    metrics.leaseLost()
    expect(await lines('holdfast_runs{')).toEqual([])
    expect(await lines('holdfast_deliveries_failed')).toEqual([])
    expect(await lines('holdfast_budget_writes')).toEqual([])
    expect(await lines('holdfast_leases_lost_total')).toEqual(['holdfast_leases_lost_total 1'])
    isAway = false
    expect(await lines('holdfast_runs{')).toHaveLength(3)
  })
})

it('names from outside become "other" when there are too many or one is too long', async () => {
  for (let i = 0; i < 500; i++) metrics.claimed(`type-${i}`, 'new')
  metrics.claimed('x'.repeat(1000), 'new')
  metrics.claimed('type-0', 'new')
  const found = await lines('holdfast_claims_total{')
  expect(found).toHaveLength(51)
  expect(found).toContain('holdfast_claims_total{type="other",reason="new"} 451')
  expect(found).toContain('holdfast_claims_total{type="type-0",reason="new"} 2')
})

it('a count that stops early says so', async () => {
  const text = await metrics.text()
  for (const name of ['deliveries_open', 'deliveries_failed', 'head_checks_waiting']) {
    expect(text).toMatch(new RegExp(`# HELP holdfast_${name} .*Counted up to 1000`))
  }
})
