/**
 * What goes wrong in the simulated world, by the seed: on the way to GitHub and back, with
 * webhooks, with limits and permissions, and with the nodes themselves, most often in the middle of
 * publishing. When the quiet hours come all of it is over.
 */
import type { Fault, FaultHandle } from '../simulator/index.ts'
import type { SimulatedNode } from './node.ts'
import { steps, type Step } from './node-ports.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { People } from './people.ts'
import type { World } from './world.ts'
import { repositories } from './world.ts'

const contentWrite = /^(POST|PATCH|DELETE) \/repos/
const looks = /^GET \/repos/
/** A second look, a settling and a scan have to come after it. */
const zombieMsMax = 100_000

interface Accident {
  readonly step: Step
  readonly atWrites: boolean
  readonly what: 'crash' | 'pause'
  left: number
}

export class Weather {
  readonly #world: World
  readonly #people: People
  readonly #random: SeededRandom
  readonly #handles: { readonly name: string; readonly handle: FaultHandle }[] = []
  /** What can be lasting and is not over by itself. */
  readonly #mend: (() => void)[] = []
  #accidents: Accident[] = []
  #hasExpired = false

  constructor(world: World, people: People) {
    this.#world = world
    this.#people = people
    this.#random = world.random.fork()
    world.onStep = (node, step, about) => this.#strike(node, step, about)
  }

  /** One more thing that will go wrong, or goes wrong now. */
  turn(): void {
    const roll = this.#random.below(100)
    if (roll < 44) this.#onTheWay()
    else if (roll < 50) this.#listsLag()
    else if (roll < 62) this.#disturbWebhooks()
    else if (roll < 92) this.#prepareAccident()
    else if (roll < 95) this.#lock()
    else if (roll < 97) this.#restrict()
    else this.#redeliver()
  }

  /** Nothing more goes wrong, and what was held back arrives. */
  clear(): void {
    const { github, hooks } = this.#world
    this.#world.onStep = () => undefined
    this.#accidents = []
    for (const mend of this.#mend) mend()
    for (const { name, handle } of this.#handles) {
      if (handle.hits > 0) this.#world.inject(name, handle.hits)
      handle.remove()
    }
    github.faults.clear()
    for (const hook of hooks) hook.release(this.#random.pick(['oldest first', 'newest first']))
    for (const node of this.#world.nodes) node.resume()
  }

  #onTheWay(): void {
    const random = this.#random
    const atWrites = random.chance(80)
    const nth = random.between(1, 4)
    const fault = this.#someFault(atWrites)
    const route = atWrites ? contentWrite : looks
    const times = fault.name === 'token-expired' ? 1 : random.pick([1, 1, 1, 2])
    this.#add(fault, { route, nth, times })
  }

  #add(
    fault: Fault,
    on: { readonly route: RegExp; readonly nth?: number; readonly times?: number },
  ) {
    const handle = this.#world.github.faults.add({ on, fault })
    this.#handles.push({ name: fault.name, handle })
    return handle
  }

  #someFault(atWrites: boolean): Fault {
    const random = this.#random
    const { faults } = this.#world.github
    const seconds = random.between(1, 90)
    const form = random.pick(['retry-after', 'plain', 'bare'])
    const unanswered: [() => Fault, ...(() => Fault)[]] = [
      () => faults.lostAnswer(),
      () => faults.lostAnswer(),
      () => faults.badGateway(),
      () => faults.serverError(random.pick([500, 502, 503])),
      () => faults.brokenJson(),
      () => faults.reset(),
      () => faults.hang({ committed: random.chance(50) }),
      () =>
        faults.slowBody({ parts: 4, pauseMs: random.between(100, 4000), cut: random.chance(50) }),
      () => faults.lateAnswer(random.between(100, 15_000)),
    ]
    const answered: [() => Fault, ...(() => Fault)[]] = [
      () => faults.refused(),
      () => faults.secondaryLimit({ form, retryAfterSeconds: seconds }),
      () => faults.tooMany({ retryAfterSeconds: seconds }),
      () => faults.primaryExhausted({ forMs: random.between(1, 240) * 1000 }),
      () => faults.blocked({ forMs: seconds * 1000, form: 'retry-after' }),
      () => this.#expiry(),
    ]
    const zombie = (): Fault => faults.delayedCommit({ afterMs: random.below(zombieMsMax) })
    const roll = random.below(10)
    if (atWrites && roll < 2) return zombie()
    return roll < 7 ? random.pick(unanswered)() : random.pick(answered)()
  }

  /** Only an App gets itself a new token, and one that is as short-lived is one too many. */
  #expiry(): Fault {
    const { github, isApp } = this.#world
    if (!isApp || this.#hasExpired) return github.faults.refused()
    this.#hasExpired = true
    return github.faults.tokenExpired()
  }

  #listsLag(): void {
    const lagMs = this.#random.pick([800, 3000, 4500, 20_000])
    const handle = this.#add(this.#world.github.faults.listLag(lagMs), { route: looks })
    this.#world.time.after(this.#random.between(5000, 40_000), () => handle.remove())
  }

  #disturbWebhooks(): void {
    const random = this.#random
    const hook = random.pickFrom(this.#world.hooks)
    const lateMs = random.between(500, 60_000)
    const how = random.pick(['double', 'twin', 'drop', 'drop', 'hold', { lateMs }, { lateMs }])
    if (random.chance(10) && !this.#world.injected.has('thread locked')) {
      // No record of it either: only the pull request itself tells of the push.
      this.#world.inject('webhook swallow')
      hook?.disturb({ how: 'swallow', event: 'pull_request', action: 'synchronize' })
      return
    }
    this.#world.inject(typeof how === 'string' ? `webhook ${how}` : 'webhook late')
    hook?.disturb({ how, event: 'pull_request' })
  }

  #redeliver(): void {
    const { log } = this.#world.github.hooks
    const delivery = this.#random.pickFrom(log.all())
    if (delivery === undefined) return
    this.#world.inject('webhook redelivered')
    for (const hook of this.#world.hooks) hook.redeliver(delivery.id)
  }

  #lock(): void {
    const pull = this.#random.pickFrom(this.#people.pulls)
    // Not yet: its own events would be taken for news of the head that was swallowed.
    if (pull === undefined || this.#world.injected.has('webhook swallow')) return
    const { github, time, story } = this.#world
    const { repo, number } = pull
    this.#world.inject('thread locked')
    story.tell('people', `lock ${repo}#${number}`)
    github.lock(repo, number)
    const unlock = (): void => github.unlock(repo, number)
    this.#mend.push(unlock)
    if (this.#random.chance(50)) time.after(this.#random.below(60_000), unlock)
  }

  #restrict(): void {
    const { github, time, story } = this.#world
    const repo = this.#random.pick(repositories)
    this.#world.inject('permission lost')
    story.tell('people', `take ${repo} from us`)
    github.restrict(repo)
    const allow = (): void => github.allow(repo)
    this.#mend.push(allow)
    time.after(this.#random.below(60_000), allow)
  }

  #prepareAccident(): void {
    const random = this.#random
    this.#accidents.push({
      step: random.pick(steps),
      atWrites: random.chance(70),
      what: random.pick(['crash', 'pause']),
      left: random.between(1, 6),
    })
  }

  #strike(node: SimulatedNode, step: Step, about: string): void {
    const isWrite = about === '' || contentWrite.test(about)
    for (const accident of this.#accidents) {
      if (accident.step !== step || (accident.atWrites && !isWrite)) continue
      accident.left -= 1
      if (accident.left > 0 || node.state !== 'up') continue
      this.#accidents = this.#accidents.filter((other) => other !== accident)
      return this.#hit(node, accident, `at ${step} ${about}`)
    }
  }

  #hit(node: SimulatedNode, { what }: Accident, why: string): void {
    const { time } = this.#world
    const random = this.#random
    this.#world.inject(`node ${what}`)
    // Within the lease of what it is sending, or well past it.
    const pauseMs = random.pick([random.between(500, 15_000), random.between(21_000, 45_000)])
    if (what === 'pause') return node.pause(pauseMs, why)
    node.crash(why)
    time.after(random.between(100, 40_000), () => node.start())
  }
}
