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
  readonly task: () => void
}

/** Promises hand on to each other within a turn; streams take a few turns. */
const turnsToSettle = 3

export class VirtualTime implements Clock, Scheduler {
  #nowMs: number
  #skewMs = 0
  #order = 0
  #timers: Timer[] = []
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
    await this.settle()
    for (;;) {
      const next = this.#next()
      if (next === undefined || next.at > until) break
      this.#nowMs = Math.max(this.#nowMs, next.at)
      this.#remove(next)
      next.task()
      await this.settle()
    }
    this.#nowMs = until
  }

  /** Lets time pass until `done`; false when that takes longer than `msMax`. */
  async passUntil(done: () => boolean, msMax: number): Promise<boolean> {
    const until = this.#nowMs + msMax
    await this.settle()
    while (!done()) {
      const next = this.#next()
      if (next === undefined || next.at > until) return false
      await this.pass(Math.max(0, next.at - this.#nowMs))
    }
    return true
  }

  /** Lets everything go on that needs no time. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < turnsToSettle; turn++) {
      await new Promise<void>((resolve) => systemScheduler.soon(resolve))
    }
  }

  #set(ms: number, task: () => void): Cancel {
    const timer = { at: this.#nowMs + Math.max(0, ms), order: this.#order++, task }
    this.#timers.push(timer)
    return () => this.#remove(timer)
  }

  #remove(timer: Timer): void {
    this.#timers = this.#timers.filter((other) => other !== timer)
  }

  #next(): Timer | undefined {
    return this.#timers.reduce<Timer | undefined>((first, timer) => {
      if (first === undefined || timer.at < first.at) return timer
      return timer.at === first.at && timer.order < first.order ? timer : first
    }, undefined)
  }
}
