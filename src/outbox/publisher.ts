/**
 * The publisher: takes what is due and does the next step of each, several at a time. Any number of
 * processes may publish from one store; the lease says who does which.
 *
 * What must hold: no request leaves later than its lease allows; a step that fails unexpectedly
 * takes no other down, and is taken up again when its lease is over.
 */
import { SetupError } from '../errors.ts'
import type { LeasedDelivery } from '../outbox-store.ts'
import type { Cancel } from '../scheduler.ts'
import { publishOne, type PublishingParts } from './publish-one.ts'

/** Other processes write deliveries too: how long one may lie unseen. */
const pollMs = 200
const errorPauseMs = 1000
const atOnceDefault = 6

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
  const { requestTimeoutMs, leaseMarginMs, deliveryLeaseMs } = options.store.outbox.rules
  if (requestTimeoutMs + leaseMarginMs >= deliveryLeaseMs) {
    throw new SetupError('delivery_lease', 'a request may take longer than its delivery is held')
  }
  return new StorePublisher(options)
}

class StorePublisher implements Publisher {
  readonly #options: PublisherOptions
  readonly #atOnceMax: number
  readonly #inHand = new Set<Promise<void>>()
  #progressInHand = 0
  #state: 'new' | 'started' | 'stopped' = 'new'
  #cancel: Cancel | undefined
  #looking: Promise<void> | null = null
  #again = false

  constructor(options: PublisherOptions) {
    this.#options = options
    this.#atOnceMax = options.atOnceMax ?? atOnceDefault
  }

  start(): void {
    if (this.#state !== 'new') return
    this.#state = 'started'
    this.wake()
  }

  wake(): void {
    this.#cancel?.()
    if (this.#state !== 'started') return
    if (this.#looking !== null) {
      this.#again = true
      return
    }
    this.#again = false
    this.#looking = this.#look().then((pauseMs) => {
      this.#looking = null
      if (this.#state !== 'started') return
      if (this.#again) this.wake()
      else {
        this.#cancel = this.#options.scheduler.afterInBackground(pauseMs, () => this.wake())
      }
    })
  }

  async stop(): Promise<void> {
    this.#state = 'stopped'
    this.#cancel?.()
    await this.#looking
    await Promise.all(this.#inHand)
  }

  /** Resolves to how long nothing has to be looked for. */
  async #look(): Promise<number> {
    const { store, clock, log } = this.#options
    try {
      const limit = this.#atOnceMax - this.#inHand.size
      if (limit <= 0) return pollMs
      const dueAt = await store.outbox.nextDueAt()
      if (dueAt === null) return pollMs
      const waitMs = dueAt - store.now()
      if (waitMs > 0) return Math.min(pollMs, waitMs)
      // The lease is counted from before it was asked for: ours ends before the store's.
      const leasedAtMs = clock.monotonicMs()
      const progressMax = Math.max(0, Math.ceil(this.#atOnceMax / 2) - this.#progressInHand)
      for (const one of await store.outbox.lease({ limit, progressMax })) {
        this.#take(one, leasedAtMs)
      }
      return pollMs
    } catch (error) {
      log.error({ err: error }, 'could not look for what has to be published')
      return errorPauseMs
    }
  }

  #take(leased: LeasedDelivery, leasedAtMs: number): void {
    const { requestTimeoutMs, leaseMarginMs, deliveryLeaseMs } = this.#options.store.outbox.rules
    const lookBy = leasedAtMs + deliveryLeaseMs - leaseMarginMs
    const sendBy = lookBy - requestTimeoutMs
    const progress = leased.delivery.priority
    this.#progressInHand += progress
    const done = publishOne(this.#options, leased, { sendBy, lookBy })
      .catch((error: unknown) => {
        const told = { err: error, delivery_id: leased.delivery.id }
        this.#options.log.error(told, 'a delivery broke off; it is due again with its lease')
      })
      .then(() => {
        this.#inHand.delete(done)
        this.#progressInHand -= progress
        this.wake()
      })
    this.#inHand.add(done)
  }
}
