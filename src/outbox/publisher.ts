/**
 * The publisher: takes deliveries that are due and does the next step of each, several at a time.
 * Any number of processes may publish from one store. The lease says which process has a delivery.
 *
 * What must hold: no request leaves later than its lease allows. A step that fails unexpectedly
 * does not stop the others, and it is tried again when its lease is over.
 */
import { SetupError } from '../errors.ts'
import type { LeasedDelivery, LeaseRoom } from '../store/outbox-store.ts'
import type { Cancel } from '../scheduler.ts'
import { publishOne } from './publish-one.ts'
import { createOneAtATime, type PublishingParts } from './publishing-parts.ts'
import { Slots } from './slots.ts'

const errorPauseMs = 1000

export interface PublisherOptions extends Omit<PublishingParts, 'slots' | 'oneAtATime'> {
  /** How many slots this process has. */
  readonly atOnceMax?: number
  /** Publishes only what belongs to this run. */
  readonly onlyRunId?: string
}

export interface Publisher {
  start(): void
  /** Checks now for due deliveries, not at the next poll. */
  wake(): void
  /** Takes nothing new, and resolves when the steps under way are done. */
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
  readonly #oneAtATime = createOneAtATime()
  readonly #underWay = new Set<Promise<void>>()
  #state: 'new' | 'started' | 'stopped' = 'new'
  #cancel: Cancel | undefined
  #polling: Promise<void> | null = null
  #mustPollAgain = false
  #lastPollFoundWork = false

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
    if (this.#polling !== null) {
      this.#mustPollAgain = true
      return
    }
    this.#mustPollAgain = false
    this.#polling = this.#poll().then((pauseMs) => {
      this.#polling = null
      if (this.#state !== 'started') return
      if (this.#mustPollAgain) this.wake()
      else {
        this.#cancel = this.#options.scheduler.afterInBackground(pauseMs, () => this.wake())
      }
    })
  }

  async stop(): Promise<void> {
    this.#state = 'stopped'
    this.#cancel?.()
    await this.#polling
    await Promise.all(this.#underWay)
  }

  /** Resolves to the time until the next poll. */
  async #poll(): Promise<number> {
    const { store, clock, log } = this.#options
    const { pollMs } = store.outbox.rules
    try {
      // If the last poll found something, there may be more, so the first question is skipped.
      const waitMs = this.#lastPollFoundWork ? 0 : await this.#msUntilDue()
      if (waitMs > 0) return waitMs
      // Counted from before the request, so that our lease ends before the store's.
      const leasedAtMs = clock.monotonicMs()
      const room = this.#slots.room()
      if (room === null) return pollMs
      const leased = await store.outbox.lease({ ...room, ...this.#ofRun })
      for (const one of leased) this.#take(one, leasedAtMs)
      const hadWork = this.#lastPollFoundWork
      this.#lastPollFoundWork = leased.length > 0
      return hadWork && !this.#lastPollFoundWork ? await this.#msUntilDue() : pollMs
    } catch (error) {
      log.error({ err: error }, 'Could not read which deliveries are due; trying again')
      return errorPauseMs
    }
  }

  get #ofRun(): Pick<LeaseRoom, 'runId'> {
    const { onlyRunId: runId } = this.#options
    return runId === undefined ? {} : { runId }
  }

  /** Reads the store and changes nothing. */
  async #msUntilDue(): Promise<number> {
    const { store } = this.#options
    const { pollMs } = store.outbox.rules
    const dueAt = await store.outbox.nextDueAt(this.#options.onlyRunId)
    return dueAt === null ? pollMs : Math.max(0, Math.min(pollMs, dueAt - store.now()))
  }

  #take(leased: LeasedDelivery, leasedAtMs: number): void {
    const { requestTimeoutMs, leaseMarginMs, deliveryLeaseMs } = this.#options.store.outbox.rules
    const lookBy = leasedAtMs + deliveryLeaseMs - leaseMarginMs
    const sendBy = lookBy - requestTimeoutMs
    const release = this.#slots.take(leased)
    const parts = { ...this.#options, slots: this.#slots, oneAtATime: this.#oneAtATime }
    const done = publishOne(parts, leased, { sendBy, lookBy })
      .catch((error: unknown) => {
        const facts = { err: error, delivery_id: leased.delivery.id }
        this.#options.log.error(
          facts,
          'Publishing a delivery was interrupted; it is tried again when its lease ends',
        )
      })
      .then(() => {
        this.#underWay.delete(done)
        release()
        this.wake()
      })
    this.#underWay.add(done)
  }
}
