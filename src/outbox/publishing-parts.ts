/** What every step of publishing works with, and the one way to store what a step found. */
import type { Channel, Prepared, Target } from '../channel.ts'
import type { Clock } from '../clock.ts'
import type { BudgetLimits } from '../domain/outbox/budget.ts'
import type { Delivery } from '../domain/outbox/delivery.ts'
import type { Finding } from '../domain/outbox/outcome.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { LeasedDelivery } from '../store/outbox-store.ts'
import type { Scheduler } from '../scheduler.ts'
import type { Store } from '../store.ts'
import type { Slots } from './slots.ts'
import type { OneAtATime } from './one-at-a-time.ts'
import type { Places } from './places.ts'

export interface PublishingParts {
  readonly store: Store
  readonly channels: ReadonlyMap<string, Channel>
  readonly places: Places
  readonly slots: Slots
  /** For preparations that may end the process: only one of them can have done it. */
  readonly carefully: OneAtATime
  readonly limits: BudgetLimits
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly metrics: Metrics
  readonly log: Log
}

/** One delivery that is ours for one lease, ready to be sent. */
export interface PublishingJob {
  readonly leased: LeasedDelivery
  readonly delivery: Delivery
  readonly channel: Channel
  readonly target: Target
  readonly prepared: Prepared
  /** On the monotonic clock. A read changes nothing and may take as long as the lease. */
  readonly sendBy: number
  readonly lookBy: number
}

export async function record(
  { store, log }: PublishingParts,
  { hold, delivery }: LeasedDelivery,
  finding: Finding,
): Promise<void> {
  const result = await store.outbox.record(hold, finding)
  const told = { delivery_id: delivery.id, found: finding.what, result }
  log.debug(told, 'Checked a delivery on GitHub')
}

export function toStoreTime({ store, clock }: PublishingParts) {
  return (ourMs: number): number => ourMs - clock.wallMs() + store.now()
}
