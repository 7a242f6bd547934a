/**
 * Wakes a worker that waits for a run. A hint, never the truth: whoever is woken asks the store,
 * and whoever is not woken asks it again after a moment. One run wakes one worker, so that a crowd
 * of idle ones costs nothing.
 */
import type { Scheduler } from '../scheduler.ts'

interface Waiter {
  readonly types: readonly string[] | undefined
  readonly wake: () => void
}

export class PendingBell {
  readonly #scheduler: Scheduler
  readonly #waiters = new Set<Waiter>()

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler
  }

  /** A run of this type may have become free to be leased. */
  ring(type: string): void {
    for (const waiter of this.#waiters) {
      if (waiter.types !== undefined && !waiter.types.includes(type)) continue
      waiter.wake()
      return
    }
  }

  /** Resolves at the next ring for one of these types, after `ms`, or when `stop` aborts. */
  wait(types: readonly string[] | undefined, ms: number, stop?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (stop?.aborted === true) return resolve()
      const wake = (): void => {
        this.#waiters.delete(waiter)
        cancelTimer()
        stop?.removeEventListener('abort', wake)
        resolve()
      }
      const waiter: Waiter = { types, wake }
      const cancelTimer = this.#scheduler.after(ms, wake)
      stop?.addEventListener('abort', wake)
      this.#waiters.add(waiter)
    })
  }
}
