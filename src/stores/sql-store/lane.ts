/**
 * One transaction at a time, of several kinds. While it is under way, requests of all kinds
 * collect, and the next batches are larger: on PostgreSQL a transaction costs far more than one
 * more request in it. Without load nothing waits.
 *
 * What must hold: a transaction that waits for somebody's lock keeps the lane only for `slowMs`.
 * Then the next one may start beside it.
 */
import type { Scheduler } from '../../scheduler.ts'

export class Lane {
  readonly #scheduler: Scheduler
  readonly #slowMs: number
  #isFree = true
  #waiting: (() => void)[] = []

  constructor(scheduler: Scheduler, slowMs: number) {
    this.#scheduler = scheduler
    this.#slowMs = slowMs
  }

  get isFree(): boolean {
    return this.#isFree
  }

  /** Calls back once when the lane is free. By then another one may have taken it. */
  whenFree(callback: () => void): void {
    if (!this.#waiting.includes(callback)) this.#waiting.push(callback)
  }

  /** Takes the free lane. Returns the function that leaves it; a second call does nothing. */
  take(): () => void {
    this.#isFree = false
    let isIn = true
    const leave = (): void => {
      if (!isIn) return
      isIn = false
      cancel()
      this.#isFree = true
      const waiting = this.#waiting
      this.#waiting = []
      for (const callback of waiting) callback()
    }
    const cancel = this.#scheduler.after(this.#slowMs, leave)
    return leave
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    while (!this.#isFree) await new Promise<void>((resolve) => this.whenFree(resolve))
    const leave = this.take()
    try {
      return await work()
    } finally {
      leave()
    }
  }
}
