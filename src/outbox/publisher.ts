/**
 * The publisher: takes what is due and does the next step of each, several at a time. Any number of
 * processes may publish from one store; the lease says who does which.
 *
 * What must hold: no request leaves later than its lease allows; a step that fails unexpectedly
 * takes no other down, and is taken up again when its lease is over.
 */
import { SetupError } from '../errors.ts'
import type { LeasedDelivery } from '../store/outbox-store.ts'
import type { Cancel } from '../scheduler.ts'
import { Slots } from './slots.ts'
import { createOneAtATime } from './one-at-a-time.ts'
import { publishOne } from './publish-one.ts'
import type { PublishingParts } from './publishing-parts.ts'

const errorPauseMs = 1000

export interface PublisherOptions extends Omit<PublishingParts, 'slots' | 'carefully'> {
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
    throw new SetupError('delivery_lease', 'a request may take longer than its delivery is held', {
      hint: 'requestTimeoutMs and leaseMarginMs together must be less than deliveryLeaseMs.',
    })
  }
  return new StorePublisher(options)
}

class StorePublisher implements Publisher {
  readonly #options: PublisherOptions
  readonly #slots: Slots
  readonly #carefully = createOneAtATime()
  readonly #inHand = new Set<Promise<void>>()
  #state: 'new' | 'started' | 'stopped' = 'new'
  #cancel: Cancel | undefined
  #looking: Promise<void> | null = null
  #again = false
  /** The last look found something to do. */
  #found = false

  constructor(options: PublisherOptions) {
    this.#options = options
    this.#slots = new Slots(options.atOnceMax)
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
    const { pollMs } = store.outbox.rules
    try {
      // While there was something at the last look, there may be more: that is not asked twice.
      const waitMs = this.#found ? 0 : await this.#nothingForMs()
      if (waitMs > 0) return waitMs
      // The lease is counted from before it was asked for: ours ends before the store's.
      const leasedAtMs = clock.monotonicMs()
      const room = this.#slots.room()
      if (room === null) return pollMs
      const leased = await store.outbox.lease(room)
      for (const one of leased) this.#take(one, leasedAtMs)
      const waited = this.#found
      this.#found = leased.length > 0
      return waited && !this.#found ? await this.#nothingForMs() : pollMs
    } catch (error) {
      log.error({ err: error }, 'Could not read which deliveries are due; trying again')
      return errorPauseMs
    }
  }

  /** A look at the heads of the queues, which changes nothing. */
  async #nothingForMs(): Promise<number> {
    const { store } = this.#options
    const { pollMs } = store.outbox.rules
    const dueAt = await store.outbox.nextDueAt()
    return dueAt === null ? pollMs : Math.max(0, Math.min(pollMs, dueAt - store.now()))
  }

  #take(leased: LeasedDelivery, leasedAtMs: number): void {
    const { requestTimeoutMs, leaseMarginMs, deliveryLeaseMs } = this.#options.store.outbox.rules
    const lookBy = leasedAtMs + deliveryLeaseMs - leaseMarginMs
    const sendBy = lookBy - requestTimeoutMs
    const release = this.#slots.take(leased)
    const parts = { ...this.#options, slots: this.#slots, carefully: this.#carefully }
    const done = publishOne(parts, leased, { sendBy, lookBy })
      .catch((error: unknown) => {
        const told = { err: error, delivery_id: leased.delivery.id }
        this.#options.log.error(
          told,
          'Publishing a delivery was interrupted; it is tried again when its lease ends',
        )
      })
      .then(() => {
        this.#inHand.delete(done)
        release()
        this.wake()
      })
    this.#inHand.add(done)
  }
}
