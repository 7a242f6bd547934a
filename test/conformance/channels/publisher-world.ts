/**
 * The whole publishing path in one process: a real store, the real publisher and the receiver, with
 * a clock that the test moves. A publisher can be stopped at a step; another one then takes over.
 */
import { pino } from 'pino'
import type { Clock } from '../../../src/clock.ts'
import type { BudgetLimits } from '../../../src/domain/outbox/budget.ts'
import type { ChannelDeclaration } from '../../../src/domain/outbox/channel-declaration.ts'
import type { Delivery } from '../../../src/domain/outbox/delivery.ts'
import type { Log } from '../../../src/log.ts'
import { noMetrics, type Metrics } from '../../../src/metrics.ts'
import type { Publisher } from '../../../src/outbox/publisher.ts'
import type { Scheduler } from '../../../src/scheduler.ts'
import type { Store } from '../../../src/store.ts'
import type { OutboxStore } from '../../../src/store/outbox-store.ts'
import { ManualScheduler } from '../../github/github-under-test.ts'
import { noLimits, ManualPublisher } from '../outbox/manual-publisher.ts'
import { openWorld, second, TestClock, type OpenStore, type World } from '../world.ts'

/** Longer than any delivery lease. */
const leaseOverMs = 21 * second

const turnsMax = 200

/** The answer of a call in a dead process: it never comes. */
const never = <T>(): Promise<T> => new Promise<T>(() => undefined)

/** The receiver of the outputs, and a publisher that sends to it. */
export interface Receiver {
  readonly channels: readonly ChannelDeclaration[]
  publisher(parts: PublisherParts): Publisher
}

export interface PublisherParts {
  readonly store: Store
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly limits: BudgetLimits
  readonly metrics: Metrics
  readonly log: Log
}

/** Creates the receiver with the clock of its world. */
export type MakeReceiver<S extends Receiver> = (clock: Clock) => S

export class PublisherWorld<S extends Receiver = Receiver> {
  readonly receiver: S
  readonly #world: World
  /** Log lines of unexpected errors. */
  readonly errors: string[] = []
  readonly #log = pino({ level: 'error' }, { write: (line: string) => void this.errors.push(line) })

  private constructor(world: World, receiver: S) {
    this.#world = world
    this.receiver = receiver
  }

  static async open<S extends Receiver>(
    open: OpenStore,
    makeReceiver: MakeReceiver<S>,
  ): Promise<PublisherWorld<S>> {
    const { channels } = makeReceiver(new TestClock())
    const world = await openWorld((machine) => open({ ...machine, channels }))
    // As a server does at its start. From now on the store knows all outputs that it created.
    await world.store.upkeep.recordMode('live')
    return new PublisherWorld(world, makeReceiver(world.clock))
  }

  close(): Promise<void> {
    return this.#world.close()
  }

  get store(): Store {
    return this.#world.store
  }

  /** The only delivery. */
  async delivery(): Promise<Delivery> {
    const { items } = await this.store.outbox.list({}, { limit: 2, cursor: null })
    const [only] = items
    if (only === undefined || items.length > 1) throw new Error(`${items.length} deliveries`)
    return only
  }

  auditTypes(deliveryId: string): Promise<readonly string[]> {
    return new ManualPublisher({ store: this.store }).auditTypes(deliveryId)
  }

  /** A publisher sends what is due, and stops when that is done. */
  async turn(store: Store = this.store): Promise<void> {
    const publisher = this.receiver.publisher({
      store,
      limits: noLimits,
      clock: this.#world.clock,
      scheduler: new ManualScheduler(),
      metrics: noMetrics,
      log: this.#log,
    })
    publisher.start()
    await publisher.stop()
  }

  /** A publisher that dies before or after this call to the store. */
  async turnUntilDead(at: keyof OutboxStore, after: 'asking' | 'answer'): Promise<void> {
    const died = Promise.withResolvers<void>()
    const outbox = new Proxy(this.store.outbox, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        const verb = value as (...args: unknown[]) => Promise<unknown>
        return async (...args: unknown[]) => {
          if (name !== at) return await verb.apply(target, args)
          if (after === 'answer') await verb.apply(target, args)
          died.resolve()
          return await never()
        }
      },
    })
    const store = new Proxy(this.store, {
      get: (target, name) => {
        if (name === 'outbox') return outbox
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? (value.bind(target) as unknown) : value
      },
    })
    const lived = this.turn(store).then(() => {
      throw new Error(`it never came to ${at}`)
    })
    await Promise.race([died.promise, lived])
  }

  /** Moves the clock until all delivery leases have expired. */
  leaseOver(): void {
    this.#world.clock.move(leaseOverMs)
  }

  /** Lets time pass while a publisher works. */
  async pass(ms: number): Promise<void> {
    const { store, clock } = this.#world
    const until = store.now() + ms
    for (let turns = 0; ; turns++) {
      if (turns > turnsMax) throw new Error('it never comes to rest')
      const dueAt = await store.outbox.nextDueAt()
      if (dueAt === null || dueAt > until) break
      clock.move(Math.max(0, dueAt - store.now()))
      await this.turn()
    }
    clock.move(until - store.now())
  }
}
