/**
 * Whether Redis can be used now.
 *
 *   starting ──▶ up ◀──▶ down        up: connected, a write was accepted, and subscribed
 *
 * What must hold: an outage is one line in the log, whatever happens during it, and so is its end.
 */
import type { Redis } from 'ioredis'
import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { QueueNames } from './names.ts'
import { RedisClients, type ClientOptions } from './redis-clients.ts'
import { refuseOldServer } from './redis-server.ts'
import { closedTrouble, lateTrouble, troubleOf, type Trouble } from './trouble.ts'

export interface LinkOptions extends ClientOptions {
  readonly names: QueueNames
  readonly clock: Clock
  readonly log: Log
}

/** Redis that refuses commands is tried again after a second, then less and less often. */
const refusedMsMin = 1000
const refusedMsMax = 30_000
/** After this time without trouble, the next refusal counts as the first. */
const steadyMs = 60_000

/** A write, and one by a script, because that is all that a queue does. */
const probeScript = "return redis.call('SET', KEYS[1], '1', 'PX', 60000)"

export class RedisLink {
  /** For commands, and for BullMQ. */
  readonly client: Redis
  readonly #options: LinkOptions
  readonly #clients: RedisClients
  #state: 'starting' | 'up' | 'down' | 'stopped' = 'starting'
  #trouble: Trouble | null = null
  #isProbed = false
  /** Null: this process has nothing to subscribe to. */
  #isSubscribed: boolean | null = null
  #refusals = 0
  /** Until it connects anew after a refusal. */
  #isWaiting = false
  #upSince = 0
  readonly #watchers: (() => void)[] = []

  constructor(options: LinkOptions) {
    this.#options = options
    this.#clients = new RedisClients(options)
    this.client = this.#clients.open()
    this.client.on('ready', () => void this.#probe())
    this.#watchConnection(this.client, () => (this.#isProbed = false))
  }

  get isUp(): boolean {
    return this.#state === 'up'
  }

  /** What is wrong; null if nothing is. */
  get trouble(): Trouble | null {
    if (this.isUp) return null
    const { url } = this.#options
    return this.#trouble ?? (this.#state === 'starting' ? lateTrouble(url) : closedTrouble(url))
  }

  /** The watcher is called whenever it is up again, is down, or is stopped. */
  watch(watcher: () => void): void {
    this.#watchers.push(watcher)
  }

  /** Resolves when the first connection was made or has failed. */
  settled(): Promise<void> {
    if (this.#state !== 'starting') return Promise.resolve()
    return new Promise((resolve) => this.watch(resolve))
  }

  /** From now on it is up only while subscribed. Called at most once. */
  subscribe(channels: readonly string[], onMessage: (channel: string, text: string) => void): void {
    this.#isSubscribed = false
    const subscriber = this.#clients.open()
    subscriber.on('message', onMessage)
    subscriber.on('ready', () => {
      subscriber.subscribe(...channels).then(
        () => {
          this.#isSubscribed = true
          this.#upIfReady()
        },
        (error: unknown) => this.#refusedOn(subscriber, error),
      )
    })
    this.#watchConnection(subscriber, () => (this.#isSubscribed = false))
    if (this.#state === 'up') this.#state = 'starting'
  }

  /**
   * A command failed although there is a connection. Connects anew after a while, because a name
   * may lead to another Redis by then.
   */
  refused(error: unknown): void {
    this.#refusedOn(this.client, error)
  }

  #refusedOn(client: Redis, error: unknown): void {
    // A lost connection is noticed by itself.
    if (this.#state === 'stopped' || client.status !== 'ready') return
    const { clock, scheduler, url } = this.#options
    if (this.isUp && clock.monotonicMs() - this.#upSince > steadyMs) this.#refusals = 0
    this.#isProbed = false
    this.#down(troubleOf(error, url))
    if (this.#isWaiting) return
    this.#isWaiting = true
    const ms = Math.min(refusedMsMax, refusedMsMin * 2 ** Math.min(this.#refusals, 10))
    this.#refusals += 1
    scheduler.afterInBackground(ms, () => {
      this.#isWaiting = false
      if (this.#state === 'down') this.#clients.reconnect()
    })
  }

  /** At once, whatever Redis does. */
  stop(): void {
    this.#state = 'stopped'
    this.#clients.stop()
    this.#tellWatchers()
  }

  async #probe(): Promise<void> {
    try {
      await refuseOldServer(this.client)
      await this.client.eval(probeScript, 1, this.#options.names.probe)
      this.#isProbed = true
      this.#upIfReady()
    } catch (error) {
      this.refused(error)
    }
  }

  #watchConnection(client: Redis, onClose: () => void): void {
    const { url } = this.#options
    client.on('error', (error) => (this.#trouble = troubleOf(error, url) ?? this.#trouble))
    client.on('close', () => {
      onClose()
      this.#down(null)
    })
  }

  #upIfReady(): void {
    if (!this.#isProbed || this.#isSubscribed === false || this.#state === 'stopped') return
    if (this.#state === 'down') this.#options.log.info('The queue works again')
    this.#state = 'up'
    this.#trouble = null
    this.#upSince = this.#options.clock.monotonicMs()
    this.#tellWatchers()
  }

  /** `news`: what is wrong; null if only what was said before. */
  #down(news: Trouble | null): void {
    if (this.#state === 'stopped') return
    const wasDown = this.#state === 'down'
    this.#state = 'down'
    this.#trouble = news ?? this.#trouble
    const { trouble } = this
    if (wasDown || trouble === null) return
    this.#options.log.warn(
      { remedy: trouble.remedy },
      `The queue cannot be used: ${trouble.text}. Until it works again, runs are found in the ` +
        'database, a few seconds later',
    )
    this.#tellWatchers()
  }

  #tellWatchers(): void {
    for (const watcher of this.#watchers) watcher()
  }
}
