/**
 * People and programs in the simulated world. Each kind of actor has a file beside this one; this
 * file picks, by the seed, who acts next.
 */
import type { SeededRandom } from '../seeded-random.ts'
import type { World, WorldRepository } from '../world.ts'
import { Callers } from './callers.ts'
import { Contributors } from './contributors.ts'
import { Operators } from './operators.ts'
import { Owners } from './owners.ts'
import { Strangers } from './strangers.ts'

export interface ActorKind {
  /** Does one thing, picked at random. */
  act(): void
}

export class Actors {
  readonly #random: SeededRandom
  readonly #world: World
  readonly #contributors: Contributors
  readonly #kinds: readonly (readonly [share: number, kind: ActorKind])[]

  constructor(world: World) {
    this.#world = world
    this.#random = world.random.fork()
    this.#contributors = new Contributors(world)
    const callers = new Callers(world)
    const followers = {
      open: (repo: WorldRepository) => this.#contributors.openIn(repo),
      claim: (repo: WorldRepository) => callers.actIn(repo),
    }
    this.#kinds = [
      [46, this.#contributors],
      [24, new Strangers(world)],
      [9, new Owners(world, followers)],
      [17, new Operators(world)],
      [4, callers],
    ]
  }

  act(): void {
    if (this.#world.pulls.length === 0) return this.#contributors.open()
    let roll = this.#random.below(this.#kinds.reduce((sum, [share]) => sum + share, 0))
    for (const [share, kind] of this.#kinds) {
      if (roll < share) return kind.act()
      roll -= share
    }
  }
}
