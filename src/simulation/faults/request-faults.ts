/**
 * Faults of requests to GitHub and their answers. Some hit any write; the others hit one kind, so
 * that rare writes (a review, a label, a removal) are hit as often as frequent ones.
 */
import type { Fault, FaultHandle } from '../../simulator/index.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { World } from '../world.ts'
import type { FaultKind } from './fault-injector.ts'

const anyWrite = /^(POST|PATCH|PUT|DELETE) \/repos/
const writesByKind = [
  /^POST \/repos.*\/issues\/\d+\/comments$/,
  /^PATCH \/repos.*\/issues\/comments\/\d+$/,
  /^PATCH \/repos.*\/issues\/comments\/\d+$/,
  /^DELETE \/repos.*\/issues\/comments\/\d+$/,
  /^POST \/repos.*\/statuses\//,
  /^POST \/repos.*\/statuses\//,
  /^(POST|PATCH) \/repos.*\/check-runs/,
  /^(POST|PUT) \/repos.*\/reviews/,
  /^(POST|PUT) \/repos.*\/reviews/,
  /^POST \/repos.*\/labels$/,
  /^POST \/repos.*\/labels$/,
  /^(POST|DELETE) \/repos.*\/labels/,
  /^DELETE \/repos.*\/labels\//,
] as const
const anyRead = /^GET \/repos/
const publisherReads = /^GET \/repos.*\/(comments|statuses|check-runs|reviews|labels)/

type FaultMakers = readonly [() => Fault, ...(() => Fault)[]]

export class RequestFaults implements FaultKind {
  readonly #world: World
  readonly #random: SeededRandom
  readonly #handles: { readonly name: string; readonly handle: FaultHandle }[] = []
  #hasExpired = false

  constructor(world: World) {
    this.#world = world
    this.#random = world.random.fork()
  }

  inject(): void {
    const random = this.#random
    if (random.chance(12)) return this.#lagLists()
    const atWrites = random.chance(80)
    const fault = this.#someFault(atWrites)
    const isAimed = atWrites && random.chance(60)
    const route = !atWrites ? anyRead : isAimed ? random.pick(writesByKind) : anyWrite
    const nth = random.pick([1, 1, isAimed ? 1 : 3, 2])
    const times = fault.name === 'token-expired' ? 1 : random.pick([1, 1, 1, 2])
    this.#add(fault, { route, nth, times })
    if (atWrites && random.chance(40)) this.#slowReads()
  }

  /** A node that looks for its write waits for the answer, and the world changes meanwhile. */
  #slowReads(): void {
    const fault = this.#world.github.faults.lateAnswer(this.#random.between(1500, 8500))
    this.#add(fault, { route: publisherReads, times: this.#random.between(1, 3) })
  }

  clear(): void {
    for (const { name, handle } of this.#handles) {
      if (handle.hits > 0) this.#world.countFault(name, handle.hits)
      handle.remove()
    }
  }

  #add(
    fault: Fault,
    on: { readonly route: RegExp; readonly nth?: number; readonly times?: number },
  ): FaultHandle {
    const handle = this.#world.github.faults.add({ on, fault })
    this.#handles.push({ name: fault.name, handle })
    return handle
  }

  #someFault(atWrites: boolean): Fault {
    const random = this.#random
    const roll = random.below(10)
    if (atWrites && roll < 3) return this.#lateEffect()
    return random.pick(roll < 8 ? this.#unanswered() : this.#answered())()
  }

  #unanswered(): FaultMakers {
    const random = this.#random
    const { faults } = this.#world.github
    const pauseMs = random.between(100, 4000)
    return [
      () => faults.lostAnswer(),
      () => faults.lostAnswer(),
      () => faults.badGateway(),
      () => faults.serverError(random.pick([500, 502, 503])),
      () => faults.brokenJson(),
      () => faults.reset(),
      () => faults.hang({ committed: random.chance(50) }),
      () => faults.slowBody({ parts: 4, pauseMs, cut: random.chance(50) }),
      () => faults.lateAnswer(random.between(100, 15_000)),
      () => faults.lateAnswer(random.between(1000, 8000)),
      () => faults.lateAnswer(random.between(1000, 8000)),
    ]
  }

  #answered(): FaultMakers {
    const { faults } = this.#world.github
    return [() => faults.refused(), () => this.#tokenExpiry()]
  }

  /** The request takes effect long after its sender stopped waiting. */
  #lateEffect(): Fault {
    const random = this.#random
    // An effect later than the middle range can be found only by the last settling read.
    const afterMs = random.pick([
      random.between(5000, 40_000),
      random.between(20_000, 100_000),
      random.between(60_000, 800_000),
    ])
    return this.#world.github.faults.delayedCommit({ afterMs })
  }

  /** Only an App can get a new token, and only once per request: so one expiry per world. */
  #tokenExpiry(): Fault {
    const { github, isApp } = this.#world
    if (!isApp || this.#hasExpired) return github.faults.refused()
    this.#hasExpired = true
    return github.faults.tokenExpired()
  }

  #lagLists(): void {
    const lagMs = this.#random.pick([800, 3000, 4500, 20_000])
    const handle = this.#add(this.#world.github.faults.listLag(lagMs), { route: anyRead })
    this.#world.time.after(this.#random.between(5000, 40_000), () => handle.remove())
  }
}
