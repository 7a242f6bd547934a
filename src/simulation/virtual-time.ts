/**
 * A clock and a scheduler whose time passes only when a test says so, for a whole program in one
 * process. Timers fire in the order of their times; timers of the same time fire in the order in
 * which they were set. Between two timers, all work that needs no time is finished.
 *
 * What must hold: the same calls lead to the same order, whatever the machine does meanwhile. So no
 * code that runs on it may wait for real input or output.
 */
import type { Clock } from '../clock.ts'
import type { Cancel, Scheduler } from '../scheduler.ts'
import { systemScheduler } from '../scheduler.ts'

interface Timer {
  readonly at: number
  readonly order: number
  /** Null after it was cancelled. */
  task: (() => void) | null
}

/** A chain of promises ends within one turn. The second turn is for work that it scheduled. */
const turnsToDrain = 2

export class VirtualTime implements Clock, Scheduler {
  #nowMs: number
  #skewMs = 0
  #order = 0
  /** A binary heap with the earliest timer first. */
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

  /** The wall time if nobody had ever set the clock. */
  trueMs(): number {
    return this.#nowMs
  }

  /** Sets the machine's clock forward or back; monotonic time is not changed. */
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

  /** Lets `ms` pass and runs everything that happens meanwhile. */
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

  /** Finishes all work that needs no time to pass. */
  async drain(): Promise<void> {
    for (let turn = 0; turn < turnsToDrain; turn++) {
      await new Promise<void>((resolve) => systemScheduler.soon(resolve))
    }
  }

  /** Runs the next timer and all that follows from it; false when none is due by `until`. */
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
    let index = from
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!this.#swapIfEarlier(index, parent)) return
      index = parent
    }
  }

  #sink(from: number): void {
    let index = from
    for (;;) {
      const [left, right] = [2 * index + 1, 2 * index + 2]
      const child = this.#isEarlier(right, left) ? right : left
      if (!this.#swapIfEarlier(child, index)) return
      index = child
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
