/**
 * Verbs that need the same lock take turns before they take a connection. Otherwise callers that
 * wait for one locked subject would use every connection of the pool, and no other heartbeat or
 * webhook would get through.
 *
 * What must hold: one verb per key at a time, and at most `mostAtOnce` of all keys, in the order of
 * arrival. A verb that waits too long fails with `store_contended`.
 */
import { StoreContendedError } from '../../errors.ts'
import type { Scheduler } from '../../scheduler.ts'
import { Fifo } from './fifo.ts'

interface Waiter {
  readonly begin: () => void
  isGone: boolean
}

export interface TurnsOptions {
  readonly scheduler: Scheduler
  readonly mostAtOnce: number
  readonly patienceMs: number
}

export class Turns {
  readonly #options: TurnsOptions
  /** Keys in use, each with the waiters behind it. */
  readonly #lanes = new Map<string, Fifo<Waiter>>()
  readonly #waitingForRoom = new Fifo<Waiter>()
  #running = 0

  constructor(options: TurnsOptions) {
    this.#options = options
  }

  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    await this.#waitInLane(key)
    try {
      await this.#waitForRoom()
      try {
        return await work()
      } finally {
        this.#running--
        this.#startNext()
      }
    } finally {
      this.#startNextInLane(key)
    }
  }

  async #waitInLane(key: string): Promise<void> {
    const lane = this.#lanes.get(key)
    if (lane === undefined) this.#lanes.set(key, new Fifo())
    else await this.#waitIn(lane)
  }

  #startNextInLane(key: string): void {
    const lane = this.#lanes.get(key)
    if (lane === undefined || !beginNext(lane)) this.#lanes.delete(key)
  }

  async #waitForRoom(): Promise<void> {
    if (this.#running < this.#options.mostAtOnce) this.#running++
    else await this.#waitIn(this.#waitingForRoom)
  }

  #startNext(): void {
    if (beginNext(this.#waitingForRoom)) this.#running++
  }

  #waitIn(line: Fifo<Waiter>): Promise<void> {
    const { scheduler, patienceMs } = this.#options
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        isGone: false,
        begin: () => {
          cancel()
          resolve()
        },
      }
      const cancel = scheduler.after(patienceMs, () => {
        waiter.isGone = true
        reject(
          new StoreContendedError('store_contended', 'another transaction held the lock too long', {
            hint: 'Try again in a moment. If this goes on, look for an open transaction.',
          }),
        )
      })
      line.push(waiter)
    })
  }
}

/** False when nobody is left to begin. */
function beginNext(line: Fifo<Waiter>): boolean {
  for (let next = line.take(); next !== undefined; next = line.take()) {
    if (next.isGone) continue
    next.begin()
    return true
  }
  return false
}
