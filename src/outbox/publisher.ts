/**
 * The publisher: takes what is due and does the next step of each, several at a time. Any number of
 * processes may publish from one store; the lease says who does which.
 *
 * What must hold: no request leaves later than its lease allows; a step that fails unexpectedly
 * takes no other down, and is taken up again when its lease is over.
 */
import { deliveryLeaseMs, leaseMarginMs, requestTimeoutMs } from '../domain/outbox/schedule.ts'
import { SetupError } from '../errors.ts'
import type { LeasedDelivery } from '../outbox-store.ts'
import type { Cancel } from '../scheduler.ts'
import { publishOne, type PublishingParts } from './publish-one.ts'

/** Other processes write deliveries too: how long one may lie unseen. */
const pollMs = 200
const errorPauseMs = 1000

export interface PublisherOptions extends PublishingParts {
  /** How many are in hand at once. */
  readonly atOnceMax?: number
}

export interface Publisher {
  start(): void
  /** Looks now, not at the next turn. */
  wake(): void
  /** Ends when what is in hand is done; nothing new is taken. */
  stop(): Promise<void>
}

export function createPublisher(options: PublisherOptions): Publisher {
  const { store, clock, scheduler, log, atOnceMax = 6 } = options
  if (requestTimeoutMs + leaseMarginMs >= deliveryLeaseMs) {
    throw new SetupError('delivery_lease', 'a request may take longer than its delivery is held')
  }
  const inHand = new Set<Promise<void>>()
  let progressInHand = 0
  let state: 'new' | 'started' | 'stopped' = 'new'
  let cancel: Cancel | undefined
  let looking: Promise<void> | null = null
  let again = false

  function look(): void {
    cancel?.()
    if (state !== 'started') return
    if (looking !== null) {
      again = true
      return
    }
    again = false
    looking = lookOnce().then((pauseMs) => {
      looking = null
      if (state !== 'started') return
      if (again) look()
      else cancel = scheduler.afterInBackground(pauseMs, look)
    })
  }

  /** Resolves to how long nothing has to be looked for. */
  async function lookOnce(): Promise<number> {
    try {
      const room = atOnceMax - inHand.size
      if (room <= 0) return pollMs
      const dueAt = await store.outbox.nextDueAt()
      if (dueAt === null) return pollMs
      const waitMs = dueAt - store.now()
      if (waitMs > 0) return Math.min(pollMs, waitMs)
      // The lease is counted from before it was asked for: ours ends before the store's.
      const leasedAtMs = clock.monotonicMs()
      const progressMax = Math.max(0, Math.ceil(atOnceMax / 2) - progressInHand)
      const leased = await store.outbox.lease({ limit: room, progressMax })
      for (const one of leased) take(one, leasedAtMs)
      return pollMs
    } catch (error) {
      log.error({ err: error }, 'could not look for what has to be published')
      return errorPauseMs
    }
  }

  function take(leased: LeasedDelivery, leasedAtMs: number): void {
    const lookBy = leasedAtMs + deliveryLeaseMs - leaseMarginMs
    const sendBy = lookBy - requestTimeoutMs
    const progress = leased.delivery.priority
    progressInHand += progress
    const done = publishOne(options, leased, { sendBy, lookBy })
      .catch((error: unknown) => {
        const told = { err: error, delivery_id: leased.delivery.id }
        log.error(told, 'a delivery broke off; it is taken up again when its lease is over')
      })
      .then(() => {
        inHand.delete(done)
        progressInHand -= progress
        look()
      })
    inHand.add(done)
  }

  return {
    start() {
      if (state !== 'new') return
      state = 'started'
      look()
    },
    wake: look,
    async stop() {
      state = 'stopped'
      cancel?.()
      await looking
      await Promise.all(inHand)
    },
  }
}
