/**
 * The engine without a queue: wake-ups stay in this process. Other processes find runs by looking
 * at the store.
 *
 * What must hold: a listener is called in a later turn than the announcement, so that the announcer
 * has finished. It gets one wake-up of a type at a time, as from a queue.
 */
import { waitingMax, type Engine, type EngineListener, type WakeUp } from '../engine.ts'
import type { Scheduler } from '../scheduler.ts'

export function createEmbeddedEngine(scheduler: Scheduler): Engine {
  const lines = new Map<string, Line>()
  let listener: EngineListener | null = null

  const tellLost = (runIds: readonly string[]): void => listener?.runsLost(runIds)

  return {
    name: 'embedded',
    announce(wakeUps) {
      for (const wakeUp of wakeUps) lines.get(wakeUp.type)?.add(wakeUp)
    },
    announceLost(runIds) {
      if (runIds.length > 0) scheduler.soon(() => tellLost(runIds))
    },
    listen(types, given) {
      listener = given
      for (const type of types) {
        lines.set(type, new Line(scheduler, async (wakeUp) => listener?.runAvailable(wakeUp)))
      }
    },
    pause: (type) => lines.get(type)?.pause(),
    resume: (type) => lines.get(type)?.resume(),
    async health() {
      return {
        name: 'embedded',
        ok: true,
        detail: 'Embedded: workers get their runs from the database. No Redis is needed.',
        remedy: null,
        warnings: [],
        waiting: Object.fromEntries([...lines].map(([type, line]) => [type, line.length])),
      }
    },
    async stop() {
      listener = null
      lines.clear()
    },
  }
}

type Take = EngineListener['runAvailable']

/** The wake-ups of one type. */
class Line {
  readonly #scheduler: Scheduler
  readonly #take: Take
  /** By run and fence, so that a doubled one waits once. */
  readonly #waiting = new Map<string, WakeUp>()
  #isPaused = false
  #isTaking = false

  constructor(scheduler: Scheduler, take: Take) {
    this.#scheduler = scheduler
    this.#take = take
  }

  get length(): number {
    return this.#waiting.size
  }

  add(wakeUp: WakeUp): void {
    if (this.#waiting.size >= waitingMax) return
    this.#waiting.set(`${wakeUp.runId} ${wakeUp.fence}`, wakeUp)
    this.#takeSoon()
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#takeSoon()
  }

  #takeSoon(): void {
    if (this.#isTaking || this.#waiting.size === 0) return
    this.#isTaking = true
    this.#scheduler.soon(() => void this.#takeAll())
  }

  async #takeAll(): Promise<void> {
    for (const [key, wakeUp] of this.#waiting) {
      if (this.#isPaused) break
      this.#waiting.delete(key)
      const before = [...this.#waiting.keys()]
      const heard = await this.#take(wakeUp)
      if (heard === 'full') this.#waiting.set(key, wakeUp)
      if (heard !== 'looked') continue
      for (const covered of before) this.#waiting.delete(covered)
    }
    this.#isTaking = false
  }
}
