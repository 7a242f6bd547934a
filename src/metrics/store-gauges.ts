/**
 * Gauges that are read from the store when somebody reads the metrics: runs, webhooks and
 * deliveries that are not done, and how much of its budget each identity has used. If the store is
 * unavailable, all of them are left out, because old numbers would look as if nothing changed.
 */
import type { Registry } from 'prom-client'
import { Gauge } from 'prom-client'
import type { CatchUpStore } from '../store/catch-up-store.ts'
import { backlogCountMax } from '../domain/outbox/backlog-count.ts'
import type { Budget, BudgetLimits } from '../domain/outbox/budget.ts'
import { useOf } from '../domain/outbox/budget.ts'
import type { OutboxStore } from '../store/outbox-store.ts'
import type { Store, StorePart } from '../store.ts'

export type WatchedStore = StorePart<{ runs: 'countActive'; inbox: 'backlog' }> &
  Pick<Store, 'now'> & {
    readonly outbox: Pick<OutboxStore, 'backlog' | 'budgets'>
    readonly catchUp: Pick<CatchUpStore, 'backlog'>
  }

export interface StoreGauges {
  watch(store: WatchedStore, limits: BudgetLimits): void
  read(): Promise<void>
}

/** Each identity is a time series. Blocked ones come first, then those that wrote last. */
const identitiesMax = 50

const counted = `Counted up to ${backlogCountMax}`

interface Source {
  readonly store: WatchedStore
  readonly limits: BudgetLimits
}

type Reading = (source: Source) => Promise<void>

/** Makes a gauge that is left out if the store is unavailable. */
type MakeGauge = <T extends string>(
  name: string,
  help: string,
  labelNames?: readonly T[],
) => Gauge<T>

export function storeGauges(registry: Registry): StoreGauges {
  const clearing: (() => void)[] = []
  const gauge: MakeGauge = (name, help, labelNames = []) => {
    const made = new Gauge({ name, help, labelNames, registers: [registry] })
    clearing.push(() => {
      if (labelNames.length > 0) made.reset()
      else made.remove()
    })
    return made
  }
  const readings: readonly Reading[] = [
    runGauges(gauge),
    inboxGauges(gauge),
    catchUpGauges(gauge),
    deliveryGauges(gauge),
    budgetGauges(gauge),
  ]
  let source: Source | null = null
  return {
    watch: (store, limits) => void (source = { store, limits }),
    async read() {
      const from = source
      try {
        if (from !== null) await Promise.all(readings.map((reading) => reading(from)))
      } catch {
        for (const clear of clearing) clear()
      }
    },
  }
}

function runGauges(gauge: MakeGauge): Reading {
  const runs = gauge('holdfast_runs', 'Active runs, by state.', ['state'])
  return async ({ store }) => {
    for (const [state, count] of Object.entries(await store.runs.countActive())) {
      runs.set({ state }, count)
    }
  }
}

function inboxGauges(gauge: MakeGauge): Reading {
  const waiting = gauge('holdfast_inbox_waiting', 'Webhooks that are not processed yet.')
  const oldest = gauge(
    'holdfast_inbox_oldest_seconds',
    'How long the oldest webhook has waited to be processed, in seconds.',
  )
  const failed = gauge(
    'holdfast_inbox_failed',
    'Webhooks that could not be processed and are not tried again.',
  )
  return async ({ store }) => {
    const backlog = await store.inbox.backlog()
    waiting.set(backlog.waiting)
    failed.set(backlog.failed)
    oldest.set(secondsSince(backlog.oldestAt, store))
  }
}

function catchUpGauges(gauge: MakeGauge): Reading {
  const heads = gauge(
    'holdfast_head_checks_waiting',
    'Pull requests whose newest commit GitHub has to confirm. Counted up to 1000.',
  )
  const oldest = gauge(
    'holdfast_head_checks_oldest_seconds',
    'How long the oldest of these pull requests has waited, in seconds.',
  )
  const unread = gauge(
    'holdfast_catchup_webhooks_unread',
    '1 if catch-up has not read all sent webhooks yet and continues in its next pass.',
  )
  return async ({ store }) => {
    const { headChecks, deliveriesUnread } = await store.catchUp.backlog()
    heads.set(headChecks.count)
    oldest.set(secondsSince(headChecks.oldestAt, store))
    unread.set(deliveriesUnread ? 1 : 0)
  }
}

function deliveryGauges(gauge: MakeGauge): Reading {
  const open = gauge(
    'holdfast_deliveries_open',
    `Deliveries that are not sent yet, by what they wait for. ${counted} in all.`,
    ['wait'],
  )
  const oldest = gauge(
    'holdfast_deliveries_oldest_seconds',
    'How long ago the oldest open delivery was wanted, in seconds.',
  )
  const failed = gauge(
    'holdfast_deliveries_failed',
    `Deliveries that failed and are not tried again. ${counted}.`,
  )
  const unreported = gauge(
    'holdfast_runs_unreported',
    'Outputs of ended runs that GitHub may still show as running, among the counted deliveries.',
  )
  const since = gauge(
    'holdfast_runs_unreported_oldest_seconds',
    'How long ago the oldest of these outputs was to be closed, in seconds.',
  )
  return async ({ store }) => {
    const backlog = await store.outbox.backlog()
    for (const [wait, count] of Object.entries(backlog.open)) open.set({ wait }, count)
    oldest.set(secondsSince(backlog.oldestAt, store))
    failed.set(backlog.failed)
    unreported.set(backlog.unreportedCount)
    since.set(secondsSince(backlog.unreported[0]?.since ?? null, store))
  }
}

function budgetGauges(gauge: MakeGauge): Reading {
  const writes = gauge(
    'holdfast_budget_writes',
    'Writes to GitHub in the last minute and in the last hour, by identity.',
    ['identity', 'window'],
  )
  const limit = gauge(
    'holdfast_budget_limit',
    'Writes that are allowed per minute and per hour; 0 means no limit.',
    ['window'],
  )
  const blocked = gauge(
    'holdfast_budget_blocked_seconds',
    'How long an identity may not write, in seconds; 0 if it is not blocked.',
    ['identity'],
  )
  return async ({ store, limits }) => {
    const budgets = await store.outbox.budgets()
    limit.set({ window: 'minute' }, limits.perMinute)
    limit.set({ window: 'hour' }, limits.perHour)
    writes.reset()
    blocked.reset()
    const now = store.now()
    const isBlocked = ({ blockedUntil }: Budget): number => ((blockedUntil ?? 0) > now ? 1 : 0)
    const shown = budgets.toSorted(
      (a, b) => isBlocked(b) - isBlocked(a) || b.updatedAt - a.updatedAt,
    )
    for (const budget of shown.slice(0, identitiesMax)) {
      const { identity, blockedUntil } = budget
      const { minute, hour } = useOf(budget, now)
      writes.set({ identity, window: 'minute' }, minute.all)
      writes.set({ identity, window: 'hour' }, hour.all)
      blocked.set({ identity }, Math.max(0, (blockedUntil ?? 0) - now) / 1000)
    }
  }
}

function secondsSince(at: number | null, store: WatchedStore): number {
  return at === null ? 0 : Math.max(0, store.now() - at) / 1000
}
