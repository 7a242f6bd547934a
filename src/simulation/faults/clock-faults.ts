/** Somebody sets the clock that the store uses, forward or back. */
import type { SeededRandom } from '../seeded-random.ts'
import type { World } from '../world.ts'
import type { FaultKind } from './fault-injector.ts'

const secondMs = 1000
const minuteMs = 60 * secondMs

export class ClockFaults implements FaultKind {
  readonly #world: World
  readonly #random: SeededRandom

  constructor(world: World) {
    this.#world = world
    this.#random = world.random.fork()
  }

  inject(): void {
    const random = this.#random
    const distanceMs = random.pick([4 * secondMs, 30 * secondMs, 10 * minuteMs, 120 * minuteMs])
    const ms = random.chance(50) ? distanceMs : -distanceMs
    this.#world.countFault('clock changed')
    this.#world.story.add(
      'clock',
      `is set ${ms > 0 ? 'forward' : 'back'} by ${distanceMs / 1000} s`,
    )
    this.#world.clockJumps.push({ at: this.#world.time.trueMs(), ms })
    this.#world.time.jump(ms)
  }

  clear(): void {
    // The clock stays as it was set.
  }
}
