/**
 * Wakes holders that wait in a long-poll when they lose their run. If this process took the run
 * away, its holder is woken at once. If another process did, one query for all waiting holders
 * finds it.
 */
import type { Cancel, Scheduler } from '../scheduler.ts'
import type { Hold, StorePart } from '../store.ts'

const pollMs = 500

interface Waiter {
  readonly hold: Hold
  readonly wake: (lost: boolean) => void
}

export class HolderWakeup {
  readonly #store: StorePart<{ runs: 'lostHolds' }>
  readonly #scheduler: Scheduler
  readonly #waiters = new Set<Waiter>()
  #cancelPoll: Cancel | null = null

  constructor(store: StorePart<{ runs: 'lostHolds' }>, scheduler: Scheduler) {
    this.#store = store
    this.#scheduler = scheduler
  }

  /** Resolves true as soon as the hold may be lost, false after `ms` or when `signal` aborts. */
  wait(hold: Hold, ms: number, signal: AbortSignal | undefined): Promise<boolean> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve(false)
      const done = (lost: boolean): void => {
        cancelTimer()
        signal?.removeEventListener('abort', stop)
        this.#waiters.delete(waiter)
        resolve(lost)
      }
      const stop = (): void => done(false)
      const waiter: Waiter = { hold, wake: done }
      const cancelTimer = this.#scheduler.after(ms, stop)
      signal?.addEventListener('abort', stop)
      this.#waiters.add(waiter)
      this.#poll()
    })
  }

  /** This process superseded or cancelled these runs, or gave them to another holder. */
  wake(runIds: readonly string[]): void {
    for (const waiter of [...this.#waiters]) {
      if (runIds.includes(waiter.hold.runId)) waiter.wake(true)
    }
  }

  #poll(): void {
    if (this.#cancelPoll !== null || this.#waiters.size === 0) return
    this.#cancelPoll = this.#scheduler.afterInBackground(pollMs, () => {
      void this.#ask().finally(() => {
        this.#cancelPoll = null
        this.#poll()
      })
    })
  }

  async #ask(): Promise<void> {
    try {
      const holds = [...this.#waiters].map(({ hold }) => hold)
      this.wake(await this.#store.runs.lostHolds(holds))
    } catch {
      // The store cannot be reached: the next heartbeat of each holder reports that.
    }
  }
}
