/**
 * One transaction at a time, of several kinds. While it is under way, requests of all kinds
 * collect, and the next batches are larger: on PostgreSQL a transaction costs far more than one
 * more request in it. Without load nothing waits.
 *
 * Of several that wait, the kind that comes earliest in the life of a run goes first. So runs that
 * are behind catch up with the others, and from then on share their transactions.
 *
 * What must hold:
 *  - A transaction that waits for somebody's lock keeps the lane only for `slowMs`. Then the next
 *    one may start beside it.
 *  - A kind that waits is passed over a few times at most, however many requests of others come.
 */
import type { Scheduler } from '../../scheduler.ts'

/** Where a kind comes in the life of a run: earlier ones have smaller numbers. */
export const laneOrder = { begin: 0, work: 1, end: 2 } as const
export type LanePlace = (typeof laneOrder)[keyof typeof laneOrder]

/** About as many transactions as a run with three steps needs. */
const passedMax = 8

interface Waiting {
  readonly place: LanePlace
  passed: number
}

export class Lane {
  readonly #scheduler: Scheduler
  readonly #slowMs: number
  readonly #waiting = new Map<() => void, Waiting>()
  #isFree = true
  #planned = false

  constructor(scheduler: Scheduler, slowMs: number) {
    this.#scheduler = scheduler
    this.#slowMs = slowMs
  }

  get isFree(): boolean {
    return this.#isFree
  }

  /**
   * Calls `start` once, when the lane is free and it is the turn of this one. It may take the lane
   * then.
   */
  wait(place: LanePlace, start: () => void): void {
    if (!this.#waiting.has(start)) this.#waiting.set(start, { place, passed: 0 })
    this.#plan()
  }

  /** In the next turn of the event loop, so that whoever was answered just now can wait too. */
  #plan(): void {
    if (this.#planned || !this.#isFree || this.#waiting.size === 0) return
    this.#planned = true
    this.#scheduler.soon(() => {
      this.#planned = false
      if (!this.#isFree) return
      const start = this.#next()
      start?.()
      this.#plan()
    })
  }

  #next(): (() => void) | null {
    let first: { readonly start: () => void; readonly rank: number } | null = null
    for (const [start, { place, passed }] of this.#waiting) {
      const rank = passed >= passedMax ? -1 : place
      if (first === null || rank < first.rank) first = { start, rank }
    }
    if (first === null) return null
    this.#waiting.delete(first.start)
    for (const other of this.#waiting.values()) other.passed++
    return first.start
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
      this.#plan()
    }
    const cancel = this.#scheduler.after(this.#slowMs, leave)
    return leave
  }

  run<T>(place: LanePlace, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.wait(place, () => {
        const leave = this.take()
        work().finally(leave).then(resolve, reject)
      })
    })
  }
}
