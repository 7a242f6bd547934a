/**
 * Time that passes only when told to: a clock and a scheduler for a whole program in one process.
 * Timers fire in the order of their times, and of their setting where those are equal; between two
 * of them everything that can go on without time passing goes on to its end.
 *
 * What must hold: the same calls lead to the same order, whatever the machine does meanwhile. So
 * nothing under it may wait for real input or output.
 */
import type { Clock } from '../clock.ts'
import type { Cancel, Scheduler } from '../scheduler.ts'
import { systemScheduler } from '../scheduler.ts'

interface Timer {
  readonly at: number
  readonly order: number
  /** Null once it was cancelled. */
  task: (() => void) | null
}

/** Promises hand on to each other within a turn; one more is for what waits for the next. */
const turnsToDrain = 2

export class VirtualTime implements Clock, Scheduler {
  #nowMs: number
  #skewMs = 0
  #order = 0
  /** A heap: of two neighbours the earlier one is nearer to the front. */
  readonly #timers: Timer[] = []
  readonly #startMs: number

  constructor(startMs: number) {
    this.#nowMs = startMs
    this.#startMs = startMs
  }

  wallMs(): number {
    return this.#nowMs + this.#skewMs
  }

  monotonicMs(): number {
    return this.#nowMs - this.#startMs
  }

  /** As wall time would be if nobody had ever set a clock. */
  trueMs(): number {
    return this.#nowMs
  }

  /** Somebody sets the machine's clock; monotonic time goes on. */
  jump(ms: number): void {
    this.#skewMs += ms
  }

  soon(task: () => void): void {
    this.#set(0, task)
  }

  after(ms: number, task: () => void): Cancel {
    return this.#set(ms, task)
  }

  afterInBackground(ms: number, task: () => void): Cancel {
    return this.#set(ms, task)
  }

  /** Lets `ms` pass, with all that happens in it. */
  async pass(ms: number): Promise<void> {
    const until = this.#nowMs + ms
    await this.drain()
    while (await this.#step(until));
    this.#nowMs = until
  }

  /** Lets time pass until `done`; false when that takes longer than `msMax`. */
  async passUntil(done: () => boolean, msMax: number): Promise<boolean> {
    const until = this.#nowMs + msMax
    await this.drain()
    while (!done()) {
      if (await this.#step(until)) continue
      this.#nowMs = until
      return false
    }
    return true
  }

  /** Lets everything go on that needs no time. */
  async drain(): Promise<void> {
    for (let turn = 0; turn < turnsToDrain; turn++) {
      await new Promise<void>((resolve) => systemScheduler.soon(resolve))
    }
  }

  /** The next timer, with all that follows from it; false when none is due by then. */
  async #step(until: number): Promise<boolean> {
    const next = this.#timers[0]
    if (next === undefined || next.at > until) return false
    this.#takeFirst()
    if (next.task === null) return true
    this.#nowMs = Math.max(this.#nowMs, next.at)
    next.task()
    await this.drain()
    return true
  }

  #set(ms: number, task: () => void): Cancel {
    const timer: Timer = { at: this.#nowMs + Math.max(0, ms), order: this.#order++, task }
    this.#timers.push(timer)
    this.#rise(this.#timers.length - 1)
    return () => void (timer.task = null)
  }

  #takeFirst(): void {
    const last = this.#timers.pop()
    if (last === undefined || this.#timers.length === 0) return
    this.#timers[0] = last
    this.#sink(0)
  }

  #rise(from: number): void {
    let at = from
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#swapIfEarlier(at, parent)) return
      at = parent
    }
  }

  #sink(from: number): void {
    let at = from
    for (;;) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      const child = this.#isEarlier(right, left) ? right : left
      if (!this.#swapIfEarlier(child, at)) return
      at = child
    }
  }

  #isEarlier(one: number, other: number): boolean {
    const [a, b] = [this.#timers[one], this.#timers[other]]
    if (a === undefined || b === undefined) return false
    return a.at < b.at || (a.at === b.at && a.order < b.order)
  }

  #swapIfEarlier(child: number, parent: number): boolean {
    const [a, b] = [this.#timers[child], this.#timers[parent]]
    if (a === undefined || b === undefined || !this.#isEarlier(child, parent)) return false
    this.#timers[child] = b
    this.#timers[parent] = a
    return true
  }
}
