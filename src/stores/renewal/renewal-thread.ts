/**
 * The main thread's side of lease renewal: starts the thread before the first lease (it could not
 * start while the main thread is blocked), tells it which leases to renew, and gives it a sign of
 * life every second.
 *
 * The main thread renews its leases itself, too. The thread helps only when less than half of a
 * lease is left. So while nothing is blocked it writes nothing.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { backgroundLoop, type BackgroundLoop } from '../../background-loop.ts'
import type { Log } from '../../log.ts'
import type { Scheduler } from '../../scheduler.ts'
import type { LeaseRenewal, RenewedLease } from '../../store/lease-renewal.ts'
import type { ThreadData, ThreadMessage } from './renewal-messages.ts'

const signEveryMs = 1000
const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'

export interface RenewalOptions {
  /** Of the PostgreSQL database. */
  readonly url: string
  readonly sessionOptions: string
  readonly scheduler: Scheduler
  readonly log: Log
  /**
   * A pipe that gets a line for each lease that the thread has renewed: its hash, and how many
   * milliseconds it lasts. It must stay open until `stop`, and writing to it must not wait.
   */
  readonly tellFd?: number | null
}

/** Resolves when the thread runs. */
export async function startLeaseRenewal(options: RenewalOptions): Promise<LeaseRenewal> {
  const thread = new RenewalThread(options)
  await thread.start()
  return thread
}

class RenewalThread implements LeaseRenewal {
  readonly #options: RenewalOptions
  readonly #kept = new Map<string, RenewedLease>()
  readonly #signs = new Int32Array(new SharedArrayBuffer(4))
  readonly #loop: BackgroundLoop
  #worker: Worker | null = null
  #isStopped = false

  constructor(options: RenewalOptions) {
    this.#options = options
    this.#loop = backgroundLoop({
      scheduler: options.scheduler,
      everyMs: signEveryMs,
      pass: () => Promise.resolve(void Atomics.add(this.#signs, 0, 1)),
      onError: () => undefined, // nothing in it can fail
    })
  }

  async start(): Promise<void> {
    this.#loop.start()
    const worker = this.#startThread()
    await once(worker, 'message')
  }

  keep(lease: RenewedLease): () => void {
    this.#kept.set(lease.leaseHash, lease)
    this.#send({ keep: lease })
    return () => {
      this.#kept.delete(lease.leaseHash)
      this.#send({ drop: lease.leaseHash })
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#loop.stop()
    await this.#worker?.terminate()
  }

  #send(message: ThreadMessage): void {
    this.#worker?.postMessage(message)
  }

  #startThread(): Worker {
    const { url, sessionOptions, log, tellFd = null } = this.#options
    const workerData: ThreadData = { url, sessionOptions, signs: this.#signs, tellFd }
    const worker = new Worker(new URL(`./thread.${extension}`, import.meta.url), { workerData })
    worker.unref()
    worker.on('error', (error) => {
      log.error({ err: error }, 'The thread that renews leases failed; starting it again')
      this.#startAgain(worker)
    })
    this.#worker = worker
    return worker
  }

  /** Without the thread, the leases are still renewed while the event loop is free. */
  #startAgain(failed: Worker): void {
    if (this.#isStopped || this.#worker !== failed) return
    this.#worker = null
    this.#options.scheduler.afterInBackground(signEveryMs, () => {
      this.#startThread()
      for (const lease of this.#kept.values()) this.#send({ keep: lease })
    })
  }
}
