/**
 * What one generation of a node reaches the world through: timers, the database, GitHub. A crash
 * cuts all of it at once; a pause holds it back and lets it through late, in order.
 *
 * What must hold: after a crash nothing of this generation settles any more, and whatever it had
 * under way either happens without it or never. So its code stops at its next step, wherever it is.
 */
import { delay, type Cancel, type Scheduler } from '../scheduler.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { VirtualTime } from './virtual-time.ts'

/**
 * Where a node can be hit: before and after it reaches the database or GitHub, between the commit
 * of an attempt and its request, between the answer and the commit of its outcome, and when it is
 * about to store a webhook.
 */
export const steps = ['commit', 'committed', 'begun', 'send', 'answer', 'heard', 'webhook'] as const
export type Step = (typeof steps)[number]

export interface PortsOptions {
  readonly time: VirtualTime
  readonly random: SeededRandom
  readonly fetch: typeof globalThis.fetch
  /** May crash or pause this very node. */
  readonly onStep: (step: Step, about: string) => void
  readonly onRequest: (sent: SentRequest) => void
  /** The longest way to GitHub, and as long again back. */
  readonly latencyMs: number
}

/** A request that left a node, by the id it carries. Its times are true, whatever clocks say. */
export interface SentRequest {
  readonly requestId: string
  /** When it was decided on; with a stopped process it may have left much later. */
  readonly decidedAt: number
  /** The answer, once this generation has got to see it. */
  answer: { readonly at: number; readonly response: Response } | null
}

const crashDelayMsMax = 90_000

/**
 * Background loops look no more often than this: a simulated hour is soon over then. A sign of life
 * comes just often enough not to count as absent, unless there is nothing that could be lost by it.
 */
export interface Pace {
  readonly publisherMs: number
  readonly loopsMs: number
  readonly beatMs: number
}

export const paces = {
  busy: { publisherMs: 600, loopsMs: 4000, beatMs: 2900 },
  quiet: { publisherMs: 6000, loopsMs: 15_000, beatMs: 2900 },
  nothingUnderWay: { publisherMs: 30_000, loopsMs: 60_000, beatMs: 60_000 },
} as const satisfies Readonly<Record<string, Pace>>

export class NodePorts {
  readonly #options: PortsOptions
  #state: 'up' | 'paused' | 'dead' = 'up'
  #held: (() => void)[] = []
  pace: Pace = paces.busy

  constructor(options: PortsOptions) {
    this.#options = options
  }

  get state(): 'up' | 'paused' | 'dead' {
    return this.#state
  }

  crash(): void {
    this.#state = 'dead'
    this.#held = []
  }

  pause(): void {
    if (this.#state === 'up') this.#state = 'paused'
  }

  resume(): void {
    if (this.#state !== 'paused') return
    this.#state = 'up'
    const held = this.#held
    this.#held = []
    for (const task of held) this.#whenUp(task)
  }

  /** What background loops of one kind wait by. */
  schedulerFor(loop: keyof Pace): Scheduler {
    return {
      soon: (task) => this.#options.time.soon(() => this.#whenUp(task)),
      after: (ms, task) => this.#after(ms, task),
      afterInBackground: (ms, task) => this.#after(Math.max(ms, this.pace[loop]), task),
    }
  }

  readonly scheduler: Scheduler = this.schedulerFor('loopsMs')

  #after(ms: number, task: () => void): Cancel {
    let cancelled = false
    const cancel = this.#options.time.after(ms, () =>
      this.#whenUp(() => {
        // One that was held may have been cancelled meanwhile.
        if (!cancelled) task()
      }),
    )
    return () => {
      cancelled = true
      cancel()
    }
  }

  /** The store's line. */
  carry<T>(what: 'read' | 'write', proceed: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (what === 'read') return this.#whenUp(() => void this.#forward(proceed(), resolve, reject))
      this.#options.onStep('commit', '')
      if (this.#state === 'dead') {
        if (this.#options.random.chance(50)) proceed().catch(() => undefined)
        return
      }
      this.#whenUp(() => {
        const done = proceed().finally(() => this.#options.onStep('committed', ''))
        void this.#forward(done, resolve, reject)
      })
    })
  }

  /** Resolves unless the node is hit there; after a pause, when that is over. */
  reach(step: Step, about: string): Promise<void> {
    this.#options.onStep(step, about)
    return new Promise((resolve) => this.#whenUp(resolve))
  }

  readonly fetch: typeof globalThis.fetch = (input, init) =>
    new Promise((resolve, reject) => {
      const { random, time, onStep } = this.#options
      const decidedAt = time.trueMs()
      const about = `${init?.method ?? 'GET'} ${pathOf(input)}`
      onStep('send', about)
      const proceed = (): void => {
        const sent = this.#recordRequest(init, decidedAt)
        const answer = this.#delayByLatency().then(() => this.#options.fetch(input, init))
        const heard = answer.then(async (response) => {
          await this.#delayByLatency()
          onStep('answer', about)
          return response
        })
        void this.#forward(
          heard,
          (response) => {
            if (sent !== null) sent.answer = { at: time.trueMs(), response }
            resolve(response)
          },
          reject,
        )
      }
      if (this.#state !== 'dead') return this.#whenUp(proceed)
      // It had just left, or was about to.
      if (random.chance(50)) time.after(random.below(crashDelayMsMax), proceed)
    })

  #delayByLatency(): Promise<void> {
    const { random, time, latencyMs } = this.#options
    return latencyMs === 0 ? Promise.resolve() : delay(time, random.below(latencyMs))
  }

  #recordRequest(init: RequestInit | undefined, decidedAt: number): SentRequest | null {
    const requestId = new Headers(init?.headers).get('x-request-id')
    if (requestId === null) return null
    const sent: SentRequest = { requestId, decidedAt, answer: null }
    this.#options.onRequest(sent)
    return sent
  }

  async #forward<T>(
    promise: Promise<T>,
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
  ): Promise<void> {
    try {
      const value = await promise
      this.#whenUp(() => resolve(value))
    } catch (error) {
      this.#whenUp(() => reject(error))
    }
  }

  #whenUp(task: () => void): void {
    if (this.#state === 'up') task()
    else if (this.#state === 'paused') this.#held.push(task)
  }
}

function pathOf(input: string | URL | Request): string {
  return new URL(input instanceof Request ? input.url : input).pathname
}
