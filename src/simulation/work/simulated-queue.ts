/**
 * A queue for the simulated nodes that cannot be trusted: it loses wake-ups, doubles them, brings
 * them late, is emptied, and is away for a while. So nothing may depend on it but the time.
 */
import type { Engine, WakeUp } from '../../engine.ts'
import { createEmbeddedEngine } from '../../open-engine.ts'
import type { Scheduler } from '../../scheduler.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { VirtualTime } from '../virtual-time.ts'

export interface SimulatedQueueOptions {
  readonly time: VirtualTime
  readonly random: SeededRandom
  readonly countFault: (kind: string) => void
}

export class SimulatedQueue {
  readonly #options: SimulatedQueueOptions
  /** What each node hears, by the node's name; a restarted node replaces its last generation. */
  readonly #nodes = new Map<string, Engine>()
  #isAway = false
  /** Raised when the queue is emptied. What was sent before does not arrive. */
  #contents = 0

  constructor(options: SimulatedQueueOptions) {
    this.#options = options
  }

  /** The engine of one generation of a node. Its listener runs on the timers of the node. */
  open(node: string, scheduler: Scheduler): Engine {
    const own = createEmbeddedEngine(scheduler)
    this.#nodes.set(node, own)
    return {
      ...own,
      // It looks at the store as seldom as one that has a queue.
      name: 'bullmq',
      announce: (wakeUps) => this.#announce(wakeUps),
      announceLost: (runIds) => this.#announceLost(runIds),
    }
  }

  empty(): void {
    this.#contents += 1
  }

  setAway(isAway: boolean): void {
    this.#isAway = isAway
    this.empty()
  }

  #announce(wakeUps: readonly WakeUp[]): void {
    for (const wakeUp of wakeUps) {
      for (const afterMs of this.#fate()) {
        this.#send(afterMs, () => {
          const { random } = this.#options
          random.pickFrom([...this.#nodes.values()])?.announce([wakeUp])
        })
      }
    }
  }

  #announceLost(runIds: readonly string[]): void {
    for (const own of this.#nodes.values()) {
      for (const afterMs of this.#fate()) this.#send(afterMs, () => own.announceLost(runIds))
    }
  }

  /** After how long each copy arrives. */
  #fate(): readonly number[] {
    const { random, countFault } = this.#options
    const afterMs = random.below(20)
    const roll = random.below(100)
    if (roll >= 45) return [afterMs]
    if (roll < 20) {
      countFault('wake-up lost')
      return []
    }
    if (roll < 32) {
      countFault('wake-up doubled')
      return [afterMs, afterMs + random.below(5000)]
    }
    countFault('wake-up late')
    return [random.between(1000, 40_000)]
  }

  #send(afterMs: number, arrive: () => void): void {
    const contents = this.#contents
    this.#options.time.after(afterMs, () => {
      if (!this.#isAway && contents === this.#contents) arrive()
    })
  }
}
