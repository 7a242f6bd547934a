/**
 * The connections of this process to Redis, also those that BullMQ makes.
 *
 * What must hold: a command fails at once without a connection, so nothing waits in memory for
 * Redis to come back. A connection that is lost or stuck is made anew by itself. No error of a
 * connection ends the process. After `stop` none is made any more.
 */
import { Redis, type RedisOptions } from 'ioredis'
import type { Random } from '../../random.ts'
import { within, type Scheduler } from '../../scheduler.ts'

export interface ClientOptions {
  readonly url: string
  readonly random: Random
  readonly scheduler: Scheduler
}

const reconnectMsMin = 100
const reconnectMsMax = 3000
/** How often Redis is asked whether it still answers. */
const pulseMs = 5000
/** Redis is stuck if it does not answer in this time. */
const answerMsMax = 2000
/** For the handshake of a new connection. */
const connectMsMax = 5000

export class RedisClients {
  readonly #options: ClientOptions
  readonly #clients = new Set<Redis>()
  #isStopped = false

  constructor(options: ClientOptions) {
    this.#options = options
  }

  open(): Redis {
    const client = this.#track(new Redis(this.#options.url, this.#redisOptions()))
    // BullMQ makes a connection on which it waits for jobs by this method. It notices by itself
    // when that one is stuck.
    client.duplicate = (override) => this.#track(new Redis({ ...client.options, ...override }))
    this.#watchOver(client)
    return client
  }

  /** Other states connect anew by themselves, and would be disturbed by this. */
  reconnect(): void {
    for (const client of this.#clients) if (client.status === 'ready') client.disconnect(true)
  }

  stop(): void {
    this.#isStopped = true
    for (const client of this.#clients) client.disconnect()
  }

  #redisOptions(): RedisOptions {
    return {
      connectionName: 'holdfast',
      family: 0,
      connectTimeout: connectMsMax,
      disconnectTimeout: 500,
      // Notices within 20 seconds that the other machine is gone.
      keepAlive: 10_000,
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
      autoResubscribe: false,
      retryStrategy: (times) => this.#reconnectAfter(times),
    }
  }

  #reconnectAfter(times: number): number | null {
    if (this.#isStopped) return null
    const ms = Math.min(reconnectMsMax, reconnectMsMin * 2 ** Math.min(times, 10))
    // Processes that lost Redis together do not come back together.
    return ms / 2 + this.#options.random.below(ms / 2)
  }

  #track(client: Redis): Redis {
    const { scheduler } = this.#options
    this.#clients.add(client)
    // Without a handler, ioredis would write the error to standard error.
    client.on('error', () => undefined)
    client.on('connect', () => {
      // BullMQ may connect once more while it is being closed.
      if (this.#isStopped) client.disconnect()
      scheduler.afterInBackground(connectMsMax, () => {
        if (client.status === 'connect') client.disconnect(true)
      })
    })
    return client
  }

  #watchOver(client: Redis): void {
    const { scheduler } = this.#options
    scheduler.afterInBackground(pulseMs, () => {
      if (this.#isStopped) return
      void this.#reconnectIfStuck(client)
      this.#watchOver(client)
    })
  }

  async #reconnectIfStuck(client: Redis): Promise<void> {
    if (client.status !== 'ready') return
    // If the connection is lost meanwhile, it is made anew by itself.
    const answered = client.ping().catch(() => 'lost')
    const answer = await within(this.#options.scheduler, answerMsMax, answered, 'late')
    if (answer !== 'late' || this.#isStopped) return
    client.emit('error', Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' }))
    client.disconnect(true)
  }
}
