/**
 * Wakes workers that wait for a run. A hint, never the truth: whoever is woken asks the store, and
 * whoever is not woken asks it again after a moment.
 */
import type { Scheduler } from '../scheduler.ts'
import { delay } from '../scheduler.ts'

export class PendingBell {
  readonly #scheduler: Scheduler
  #ring = new AbortController()

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler
  }

  ring(): void {
    const rung = this.#ring
    this.#ring = new AbortController()
    rung.abort()
  }

  /** Take this before asking the store, so that a ring in between is not missed. */
  listen(): AbortSignal {
    return this.#ring.signal
  }

  wait(ms: number, bell: AbortSignal, stop: AbortSignal | undefined): Promise<void> {
    const either = stop === undefined ? bell : AbortSignal.any([bell, stop])
    return delay(this.#scheduler, ms, either)
  }
}
