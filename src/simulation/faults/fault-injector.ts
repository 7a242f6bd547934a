/**
 * What goes wrong in the simulated world. Each kind of fault has a file beside this one; this file
 * picks, by the seed, which comes next. All faults end when the quiet hours begin.
 */
import type { SeededRandom } from '../seeded-random.ts'
import type { World } from '../world.ts'
import { NodeFaults } from './node-faults.ts'
import { ClockFaults } from './clock-faults.ts'
import { LimitFaults } from './limit-faults.ts'
import { PermissionFaults } from './permission-faults.ts'
import { RequestFaults } from './request-faults.ts'
import { WebhookFaults } from './webhook-faults.ts'
import { WorkFaults } from './work-faults.ts'

export interface FaultKind {
  /** Adds one fault, which happens now or later. */
  inject(): void
  /** Ends all faults of this kind. Requests and webhooks that they held back arrive. */
  clear(): void
}

export class FaultInjector {
  readonly #random: SeededRandom
  readonly #kinds: readonly (readonly [share: number, kind: FaultKind])[]
  /** Faults of the work of nodes, beside the others, in worlds whose nodes execute runs. */
  readonly #workFaults: WorkFaults | null

  constructor(world: World) {
    this.#random = world.random.fork()
    this.#kinds = [
      [42, new RequestFaults(world)],
      [12, new LimitFaults(world)],
      [15, new WebhookFaults(world)],
      [32, new NodeFaults(world)],
      [18, new PermissionFaults(world)],
      [2, new ClockFaults(world)],
    ]
    this.#workFaults = world.work && new WorkFaults(world, world.work)
  }

  inject(): void {
    this.#workFaults?.inject()
    let roll = this.#random.below(this.#kinds.reduce((sum, [share]) => sum + share, 0))
    for (const [share, kind] of this.#kinds) {
      if (roll < share) return kind.inject()
      roll -= share
    }
  }

  clear(): void {
    for (const [, kind] of this.#kinds) kind.clear()
    this.#workFaults?.clear()
  }
}
