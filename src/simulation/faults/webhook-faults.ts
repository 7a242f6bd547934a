/** Webhooks that arrive twice, late, out of order or never, and redeliveries. */
import type { SeededRandom } from '../seeded-random.ts'
import type { World } from '../world.ts'
import type { FaultKind } from './fault-injector.ts'

export class WebhookFaults implements FaultKind {
  readonly #world: World
  readonly #random: SeededRandom

  constructor(world: World) {
    this.#world = world
    this.#random = world.random.fork()
  }

  inject(): void {
    if (this.#random.chance(20)) return this.#redeliver()
    const random = this.#random
    const hook = random.pickFrom(this.#world.hooks)
    const lateMs = random.between(500, 60_000)
    const fault = random.pick([
      'duplicate',
      'duplicate-new-guid',
      'drop',
      'drop',
      'hold',
      { lateMs },
      { lateMs },
    ])
    if (random.chance(10)) {
      // GitHub's delivery log has no entry for it: only the pull request itself shows the push.
      this.#world.countFault('webhook drop-unlogged')
      hook?.addFault({ fault: 'drop-unlogged', event: 'pull_request', action: 'synchronize' })
      return
    }
    this.#world.countFault(typeof fault === 'string' ? `webhook ${fault}` : 'webhook late')
    hook?.addFault({ fault, event: 'pull_request' })
  }

  clear(): void {
    for (const hook of this.#world.hooks) {
      hook.release(this.#random.pick(['oldest first', 'newest first']))
    }
  }

  #redeliver(): void {
    const delivery = this.#random.pickFrom(this.#world.github.hooks.log.all())
    if (delivery === undefined) return
    this.#world.countFault('webhook redelivered')
    for (const hook of this.#world.hooks) hook.redeliver(delivery.id)
  }
}
