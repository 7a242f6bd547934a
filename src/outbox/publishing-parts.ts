/** What all parts of the publisher use, and the one function that stores a finding. */
import type { Channel, Prepared, Target } from '../channel.ts'
import type { Clock } from '../clock.ts'
import type { BudgetLimits } from '../domain/outbox/budget.ts'
import type { ChannelDeclaration } from '../domain/outbox/channel-declaration.ts'
import type { Delivery } from '../domain/outbox/delivery.ts'
import type { Finding } from '../domain/outbox/outcome.ts'
import { knownReason } from '../domain/outbox/words/closed-reasons.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import type { LeasedDelivery, PlacedDelivery } from '../store/outbox-store.ts'
import type { Scheduler } from '../scheduler.ts'
import type { Store } from '../store.ts'
import type { Slots } from './slots.ts'

export interface PublishingParts {
  readonly store: Store
  readonly channels: ReadonlyMap<string, Channel>
  readonly repositoryIds: RepositoryIds
  readonly slots: Slots
  /** For preparations that may kill the process: then it is clear which one did. */
  readonly oneAtATime: OneAtATime
  readonly limits: BudgetLimits
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly metrics: Metrics
  readonly log: Log
}

/** Port: finds out which id a repository has on the other side. */
export interface RepositoryIds {
  /** Only for deliveries about a repository. */
  learn(placed: DeliveryWithoutId, channel: ChannelDeclaration): Promise<Finding>
}

export type DeliveryWithoutId = Pick<PlacedDelivery, 'repo' | 'unverifiedName' | 'delivery'>

/** One delivery that this process has leased and prepared for sending. */
export interface PublishingJob {
  readonly leased: LeasedDelivery
  readonly delivery: Delivery
  readonly channel: Channel
  readonly target: Target
  readonly prepared: Prepared
  /** On the monotonic clock. A write must leave before `sendBy`. */
  readonly sendBy: number
  /** A read changes nothing, so it may take as long as the lease. */
  readonly lookBy: number
}

export async function recordFinding(
  parts: PublishingParts,
  { lease, delivery }: LeasedDelivery,
  finding: Finding,
): Promise<void> {
  const result = await parts.store.outbox.record(lease, finding)
  const facts = { delivery_id: delivery.id, found: finding.what, result }
  parts.log.debug(facts, 'Checked a delivery on GitHub')
  if (result === 'failed') await logFailed(parts, delivery.id)
}

/** A failed delivery is not tried again by itself, so the log says so at once. */
export async function logFailed(
  { store, log }: Pick<PublishingParts, 'store' | 'log'>,
  deliveryId: string,
): Promise<void> {
  const delivery = await store.outbox.delivery(deliveryId)
  // An operator may have reopened it meanwhile.
  if (delivery?.status !== 'FAILED') return
  const { id, runId, channel, name, reason, errorText } = delivery
  const facts = { delivery_id: id, run_id: runId, channel, name, reason, error: errorText }
  const why = knownReason(reason) ?? 'it cannot be published'
  log.warn(facts, `A delivery failed: ${why}. To see what to do: holdfast why ${id}`)
}

export function toStoreTime({ store, clock }: Pick<PublishingParts, 'store' | 'clock'>) {
  return (ourMs: number): number => ourMs - clock.wallMs() + store.now()
}

/** The delivery in the form that its channel takes. */
export function targetOf(placed: PlacedDelivery): Target {
  const { delivery, repo, repoGithubId, ownRepositoryIds } = placed
  const { id, thread, sha, address, name, markerKey, providerId } = delivery
  return {
    deliveryId: id,
    repo,
    repoGithubId,
    ownRepositoryIds,
    thread,
    sha,
    address,
    name,
    markerKey,
    laterKeys: delivery.protocol.restored?.laterKeys ?? [],
    providerId,
  }
}

/** Does one piece of work after the other. A piece that fails does not stop the others. */
export type OneAtATime = <T>(work: () => Promise<T>) => Promise<T>

export function createOneAtATime(): OneAtATime {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const done = last.then(work, work)
    last = done
    return done
  }
}
