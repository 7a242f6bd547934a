/** A listener that remembers what it heard, and lets a test wait for it. */
import type { Engine, EngineListener, Heard, WakeUp } from '../../../src/engine.ts'
import { until } from '../../scenarios/until.ts'

export class TestListener implements EngineListener {
  readonly wakeUps: WakeUp[] = []
  readonly lost: string[] = []
  /** How many wake-ups it is busy with now, and the most so far, by type. */
  readonly busy = new Map<string, number>()
  readonly busiest = new Map<string, number>()
  #work: (wakeUp: WakeUp) => Promise<unknown>

  constructor(work: (wakeUp: WakeUp) => Promise<unknown> = () => Promise.resolve()) {
    this.#work = work
  }

  async runAvailable(wakeUp: WakeUp): Promise<Heard> {
    const { type } = wakeUp
    const busy = (this.busy.get(type) ?? 0) + 1
    this.busy.set(type, busy)
    this.busiest.set(type, Math.max(busy, this.busiest.get(type) ?? 0))
    this.wakeUps.push(wakeUp)
    const heard = await this.#work(wakeUp)
    this.busy.set(type, (this.busy.get(type) ?? 0) - 1)
    return heard === 'looked' || heard === 'full' ? heard : undefined
  }

  runsLost(runIds: readonly string[]): void {
    this.lost.push(...runIds)
  }

  get runIds(): readonly string[] {
    return this.wakeUps.map(({ runId }) => runId)
  }

  async heard(runId: string): Promise<void> {
    await until(
      async () => this.runIds,
      (ids) => ids.includes(runId),
    )
  }

  async heardLost(runId: string): Promise<void> {
    await until(
      async () => this.lost,
      (ids) => ids.includes(runId),
    )
  }
}

export const wakeUp = (runId: string, type = 'review', fence = 1): WakeUp => ({
  runId,
  fence,
  type,
})

/** Resolves when the engine says that it works. */
export async function untilWorking(engine: Engine): Promise<void> {
  await until(
    () => engine.health(),
    ({ ok }) => ok,
  )
}

export async function untilBroken(engine: Engine): Promise<void> {
  await until(
    () => engine.health(),
    ({ ok }) => !ok,
  )
}

/**
 * For tests that something does not happen: further wake-ups go the same way, and what was
 * announced before them would have arrived by then.
 */
export async function untilQuiet(engine: Engine, listener: TestListener, type: string) {
  for (let round = 0; round < 3; round++) {
    const marker = `run_marker${listener.wakeUps.length}`
    engine.announce([wakeUp(marker, type)])
    await listener.heard(marker)
  }
}

/** How long a call took, in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}
