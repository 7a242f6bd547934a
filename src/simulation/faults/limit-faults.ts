/**
 * GitHub's rate limits: for one request, for all requests from then on, or for several requests
 * that are under way at once. Those are answered late, each with its own time to wait.
 */
import type { Fault, FaultHandle } from '../../simulator/index.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { World } from '../world.ts'
import type { FaultKind } from './fault-injector.ts'

const anyRequest = /^(GET|POST|PATCH|PUT|DELETE) \/repos/
const writes = /^(POST|PATCH|PUT|DELETE) \/repos/

export class LimitFaults implements FaultKind {
  readonly #world: World
  readonly #random: SeededRandom
  readonly #handles: { readonly name: string; readonly handle: FaultHandle }[] = []

  constructor(world: World) {
    this.#world = world
    this.#random = world.random.fork()
  }

  inject(): void {
    if (this.#random.chance(50)) return this.#addSimultaneousLimits()
    const route = this.#random.chance(80) ? writes : anyRequest
    this.#add(this.#oneLimit(), { route, nth: this.#random.between(1, 4), times: 1 })
  }

  clear(): void {
    for (const { name, handle } of this.#handles) {
      if (handle.hits > 0) this.#world.countFault(name, handle.hits)
      handle.remove()
    }
  }

  #oneLimit(): Fault {
    const random = this.#random
    const { faults } = this.#world.github
    const seconds = random.between(1, 90)
    const form = random.pick(['retry-after', 'plain', 'bare'])
    return random.pick([
      () => faults.secondaryLimit({ form, retryAfterSeconds: seconds }),
      () => faults.tooMany({ retryAfterSeconds: seconds }),
      () => faults.primaryExhausted({ forMs: random.between(1, 240) * 1000 }),
      () => faults.blocked({ forMs: seconds * 1000, form: 'retry-after' }),
    ])()
  }

  /** The long wait is answered first. The later answers must not shorten the block. */
  #addSimultaneousLimits(): void {
    const random = this.#random
    const nth = random.pick([1, 1, 2])
    const afterMs = random.between(300, 4000)
    this.#add(this.#lateLimit(random.between(60, 120), afterMs), {
      route: anyRequest,
      nth,
      times: 1,
    })
    const short = this.#lateLimit(random.between(1, 5), afterMs + random.between(500, 4000))
    this.#add(short, { route: anyRequest, nth, times: random.between(1, 3) })
  }

  #lateLimit(retryAfterSeconds: number, afterMs: number): Fault {
    const limit = this.#world.github.faults.secondaryLimit({ retryAfterSeconds })
    const { time } = this.#world
    return {
      name: 'late-limit',
      run: (exchange) =>
        new Promise((resolve) => {
          time.after(afterMs, () => resolve(limit.run(exchange)))
        }),
    }
  }

  #add(
    fault: Fault,
    on: { readonly route: RegExp; readonly nth: number; readonly times: number },
  ): void {
    const handle = this.#world.github.faults.add({ on, fault })
    this.#handles.push({ name: fault.name, handle })
  }
}
