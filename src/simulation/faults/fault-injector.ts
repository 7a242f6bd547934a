/**
 * What goes wrong in the simulated world, by the seed. Each kind of it is a file beside this one;
 * here it is decided which comes next. When the quiet hours come all of it is over.
 */
import type { SeededRandom } from '../seeded-random.ts'
import type { World } from '../world.ts'
import { Accidents } from './accidents.ts'
import { Clocks } from './clocks.ts'
import { Limits } from './limits.ts'
import { Permissions } from './permissions.ts'
import { RequestFaults } from './request-faults.ts'
import { WebhookFaults } from './webhook-faults.ts'

export interface FaultKind {
  /** One more thing that will go wrong, or goes wrong now. */
  turn(): void
  /** It is over, and what it held back arrives. */
  clear(): void
}

export class FaultInjector {
  readonly #random: SeededRandom
  readonly #kinds: readonly (readonly [share: number, kind: FaultKind])[]

  constructor(world: World) {
    this.#random = world.random.fork()
    this.#kinds = [
      [42, new RequestFaults(world)],
      [12, new Limits(world)],
      [15, new WebhookFaults(world)],
      [32, new Accidents(world)],
      [18, new Permissions(world)],
      [2, new Clocks(world)],
    ]
  }

  turn(): void {
    let roll = this.#random.below(this.#kinds.reduce((sum, [share]) => sum + share, 0))
    for (const [share, kind] of this.#kinds) {
      if (roll < share) return kind.turn()
      roll -= share
    }
  }

  clear(): void {
    for (const [, kind] of this.#kinds) kind.clear()
  }
}
