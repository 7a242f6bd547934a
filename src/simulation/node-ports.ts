/**
 * The ports of one generation of a node (from one start to its crash): timers, the database and
 * GitHub. A crash cuts all of them at once; a pause holds everything back and delivers it late, in
 * order.
 *
 * What must hold: after a crash no promise of this generation resolves, so its code stops at its
 * next step. A request or commit that it had begun is either done without it or never done.
 */
import type { LoopName } from '../node.ts'
import { delay, type Cancel, type Scheduler } from '../scheduler.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { VirtualTime } from './virtual-time.ts'

/** Where a node can crash or pause. */
export const steps = [
  'before commit',
  'after commit',
  // The attempt is stored, its request has not left yet.
  'after begin attempt',
  'before request',
  'after answer',
  // The outcome of the attempt is known and not stored yet.
  'before end attempt',
  'before storing webhook',
] as const

/** The same, for a node that executes runs itself. */
export const workSteps = [
  'before step write',
  'after step write',
  'before effect',
  // The effect has happened, and its result is not stored yet.
  'after effect',
] as const

export type Step = (typeof steps)[number] | (typeof workSteps)[number]

export interface PortsOptions {
  readonly time: VirtualTime
  readonly random: SeededRandom
  readonly fetch: typeof globalThis.fetch
  /** May crash or pause this very node. */
  readonly onStep: (step: Step, about: string) => void
  readonly onRequest: (sent: SentRequest) => void
  /** The most time that a request takes to GitHub, and also the most that its answer takes back. */
  readonly latencyMs: number
}

/** A request of a node. Its times are true times, which clock faults do not change. */
export interface SentRequest {
  readonly requestId: string
  /** When the node decided to send it. If the node was paused, it left much later. */
  readonly decidedAt: number
  /** Null until this generation of the node has received the answer. */
  answer: { readonly at: number; readonly response: Response } | null
}

const crashDelayMsMax = 90_000
/** How long an effect takes. Well below the delay between the two questions of a confirm. */
const effectMsMax = 2000

/**
 * The shortest pauses of the background loops. They are long, so that a simulated hour takes little
 * real time. The node's beat is just frequent enough that the node does not count as absent, unless
 * nothing is in progress and nothing could be lost.
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

/** The loops that have their own pace. */
const paceOf: Partial<Record<LoopName, keyof Pace>> = { publisher: 'publisherMs', pulse: 'beatMs' }

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

  schedulerFor(loop: LoopName): Scheduler {
    return this.#schedulerAt(paceOf[loop] ?? 'loopsMs')
  }

  readonly scheduler: Scheduler = this.#schedulerAt('loopsMs')

  #schedulerAt(pace: keyof Pace): Scheduler {
    return {
      soon: (task) => this.#options.time.soon(() => this.#whenUp(task)),
      after: (ms, task) => this.#after(ms, task),
      afterInBackground: (ms, task) => this.#after(Math.max(ms, this.pace[pace]), task),
    }
  }

  #after(ms: number, task: () => void): Cancel {
    let cancelled = false
    const cancel = this.#options.time.after(ms, () =>
      this.#whenUp(() => {
        // A timer that a pause held back may have been cancelled meanwhile.
        if (!cancelled) task()
      }),
    )
    return () => {
      cancelled = true
      cancel()
    }
  }

  /** Carries a read or write between the node and the database. */
  carry<T>(what: 'read' | 'write', proceed: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (what === 'read') return this.#whenUp(() => void this.#forward(proceed(), resolve, reject))
      this.#options.onStep('before commit', '')
      if (this.#state === 'dead') {
        if (this.#options.random.chance(50)) proceed().catch(() => undefined)
        return
      }
      this.#whenUp(() => {
        const done = proceed().finally(() => this.#options.onStep('after commit', ''))
        void this.#forward(done, resolve, reject)
      })
    })
  }

  /** Resolves at once, after the pause when the node pauses here, or never when it crashes. */
  reach(step: Step, about: string): Promise<void> {
    this.#options.onStep(step, about)
    return new Promise((resolve) => this.#whenUp(resolve))
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#after(ms, resolve))
  }

  /** An effect of a step in the outside world, which the node asks for as with a request. */
  effect(about: string, happen: (wasDead: boolean) => void): Promise<void> {
    const { random, time, onStep } = this.#options
    const isDead = (): boolean => this.#state === 'dead'
    return new Promise((resolve) => {
      if (isDead()) return
      onStep('before effect', about)
      const proceed = (): void => {
        time.after(random.below(effectMsMax), () => {
          happen(isDead())
          onStep('after effect', about)
          this.#whenUp(resolve)
        })
      }
      if (!isDead()) return this.#whenUp(proceed)
      if (random.chance(50)) proceed()
    })
  }

  readonly fetch: typeof globalThis.fetch = (input, init) =>
    new Promise((resolve, reject) => {
      const { random, time, onStep } = this.#options
      const decidedAt = time.trueMs()
      const about = `${init?.method ?? 'GET'} ${pathOf(input)}`
      onStep('before request', about)
      const proceed = (): void => {
        const sent = this.#recordRequest(init, decidedAt)
        const answer = this.#delayByLatency().then(() => this.#options.fetch(input, init))
        const arrived = answer.then(async (response) => {
          await this.#delayByLatency()
          onStep('after answer', about)
          return response
        })
        void this.#forward(
          arrived,
          (response) => {
            if (sent !== null) sent.answer = { at: time.trueMs(), response }
            resolve(response)
          },
          reject,
        )
      }
      if (this.#state !== 'dead') return this.#whenUp(proceed)
      // The node crashed right before or right after the request left.
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
