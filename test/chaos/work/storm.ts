/**
 * Workers in real processes that are killed, stopped and continued, while their queue is emptied
 * and their database crashes.
 */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { Command, Server } from '../../scenarios/server.ts'
import type { ServerData } from '../../scenarios/server-data.ts'
import type { RedisServer } from '../../redis/server.ts'
import type { Effects } from './effects.ts'

export const leaseMs = 2000

export interface StormOptions {
  readonly data: ServerData
  readonly databaseUrl: string
  readonly redis: RedisServer
  readonly effects: Effects
  readonly workers: number
  /** In [0, below). */
  readonly chance: (below: number) => number
}

export class Storm {
  readonly #options: StormOptions
  readonly #env: Readonly<Record<string, string>>
  readonly #workers: (Command | null)[] = []
  readonly counts = { kill: 0, stop: 0, flush: 0, queueAway: 0, databaseCrash: 0 }
  server: Server | null = null

  constructor(options: StormOptions) {
    this.#options = options
    this.#env = {
      COUNTER_URL: options.effects.url,
      HOLDFAST_QUEUE_URL: options.redis.url,
      HOLDFAST_LEASE_MS: String(leaseMs),
      HOLDFAST_CONFIRM_DELAY_MS: '200',
      HOLDFAST_LOG_LEVEL: 'error',
    }
    copyFileSync(
      join(import.meta.dirname, 'holdfast.config.ts'),
      join(options.data.folder, 'holdfast.config.ts'),
    )
  }

  async start(): Promise<void> {
    const { data, workers } = this.#options
    this.server = await Server.start(data, this.#env, '0', ['--no-work'])
    for (let i = 0; i < workers; i++) this.#startWorker(i)
  }

  #startWorker(i: number): void {
    this.#workers[i] = new Command(this.#options.data, ['worker'], this.#env)
  }

  /** One blow. The first ones are one of each kind, so that every storm has them all. */
  async strike(blow: number): Promise<void> {
    const { chance } = this.#options
    const kinds = ['kill', 'stop', 'flush', 'crash', 'kill', 'stop'] as const
    const kind = kinds[blow < kinds.length ? blow : chance(kinds.length)]
    const which = chance(this.#workers.length)
    if (kind === 'kill') await this.#kill(which)
    else if (kind === 'stop') await this.#stop(which)
    else if (kind === 'flush') await this.#flush()
    else await this.#crashDatabase()
  }

  async #flush(): Promise<void> {
    this.counts.flush++
    // It may be away.
    await this.#options.redis.run('FLUSHALL').catch(() => undefined)
  }

  async #kill(i: number): Promise<void> {
    this.counts.kill++
    const worker = this.#workers[i]
    worker?.child.kill('SIGKILL')
    await worker?.ended
    this.#startWorker(i)
  }

  /** For longer than its lease, so that another worker takes its runs. */
  async #stop(i: number): Promise<void> {
    this.counts.stop++
    const worker = this.#workers[i]
    worker?.child.kill('SIGSTOP')
    await pause(leaseMs * 2)
    worker?.child.kill('SIGCONT')
  }

  async queueAway(ms: number): Promise<void> {
    const { redis } = this.#options
    this.counts.queueAway++
    await redis.stop()
    await pause(ms)
    await redis.startAgain()
  }

  /** A backend that is killed makes PostgreSQL end all connections and recover. */
  async #crashDatabase(): Promise<void> {
    this.counts.databaseCrash++
    const client = new pg.Client({ connectionString: this.#options.databaseUrl })
    client.on('error', () => undefined)
    try {
      await client.connect()
      const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
      process.kill(rows[0]?.pid ?? 0, 'SIGKILL')
    } catch {
      // It is still recovering from the last crash.
    } finally {
      await client.end().catch(() => undefined)
    }
  }

  async end(): Promise<void> {
    for (const worker of this.#workers) {
      worker?.child.kill('SIGCONT')
      worker?.child.kill('SIGKILL')
      await worker?.ended
    }
    await this.server?.kill()
  }
}
