/** Measured processes: starts them, keeps a number of runs in work, and takes the time. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { callers, rateOf } from '../workload.ts'
import type { Orders, Report } from './executor.ts'

export interface Program {
  /** A file in this folder. */
  readonly program: string
  readonly args: readonly string[]
  /** Default: one. Each also gets its number, from 0, as its last argument. */
  readonly count?: number
}

export class Processes {
  readonly #children: readonly ChildProcess[]
  #onReport: (message: Report) => void = () => undefined
  #fail: (error: Error) => void = () => undefined
  #isStopping = false

  private constructor(children: readonly ChildProcess[]) {
    this.#children = children
    for (const child of children) {
      child.on('message', (message: Report) => this.#onReport(message))
      child.on('exit', (code) => {
        if (!this.#isStopping) this.#fail(new Error(`a measured process ended with ${code}`))
      })
    }
  }

  static async start({ program, args, count = 1 }: Program): Promise<Processes> {
    const path = join(import.meta.dirname, program)
    const children: ChildProcess[] = []
    // One after the other: the first one creates the tables.
    for (let i = 0; i < count; i++) {
      const options = { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] } as const
      const child = fork(path, [...args, `${i}`], { ...options, stdio: [...options.stdio] })
      children.push(child)
      const ended = once(child, 'exit').then(() => {
        throw new Error(`${program} ended before it was ready`)
      })
      await Promise.race([once(child, 'message'), ended])
      ended.catch(() => undefined)
    }
    return new Processes(children)
  }

  /** Runs per second, with as many in work as there are callers. */
  rate(total: number): Promise<number> {
    return rateOf(total, () => this.work(total, callers))
  }

  /** Starts `total` runs, `inWork` at a time, each process its share. Returns the latencies. */
  work(total: number, inWork: number): Promise<readonly number[]> {
    let started = 0
    let finished = 0
    const latencies: number[] = []
    const startMore = (count: number): void => {
      const children = this.#children.length
      const before = started
      started += Math.min(count, total - started)
      for (const [i, child] of this.#children.entries()) {
        // Of all runs, every process starts each n-th.
        const upTo = (runs: number): number => Math.floor((runs + children - 1 - i) / children)
        const start = upTo(started) - upTo(before)
        if (start > 0) child.send({ start } satisfies Orders)
      }
    }
    return new Promise((resolve, reject) => {
      this.#fail = reject
      this.#onReport = (message) => {
        latencies.push(...(message.latencies ?? []))
        finished += message.finished ?? 0
        if (finished >= total) resolve(latencies)
        else startMore(message.finished ?? 0)
      }
      startMore(inWork)
    })
  }

  /** Tells no process to start runs; they report to `reportTo`. */
  reportTo(other: Processes): void {
    this.#onReport = (message) => other.#onReport(message)
    this.#fail = (error) => other.#fail(error)
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    }
  }
}
