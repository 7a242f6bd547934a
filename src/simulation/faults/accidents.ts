/**
 * What happens to the nodes: one dies or is stopped at a step of its work, most often in the middle
 * of publishing; or all of them are gone until every lease is over.
 */
import type { SimulatedNode } from '../node.ts'
import { steps, type Step } from '../node-ports.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { StepListener, World } from '../world.ts'
import type { FaultKind } from './fault-injector.ts'

const contentWrite = /^(POST|PATCH|PUT|DELETE) \/repos/
const unrepeatable = /github-review|github-comment|github-check/

/** Steps of one attempt: there are few of them, and most stops there outlast its lease. */
const ofAttempts = ['begun', 'heard', 'heard'] as const satisfies Step[]
const isOfAttempts = (step: Step): boolean => ofAttempts.some((one) => one === step)

function aboutOf(step: Step, random: SeededRandom): RegExp {
  if (isOfAttempts(step)) return random.pick([unrepeatable, /^/, /^/])
  return step !== 'webhook' && random.chance(70) ? contentWrite : /^/
}

interface Accident {
  readonly step: Step
  /** What it has to be about, at steps that are about something. */
  readonly about: RegExp
  readonly what: 'crash' | 'pause'
  /** Null for whoever comes there first. */
  readonly node: SimulatedNode | null
  left: number
}

export class Accidents implements FaultKind {
  readonly #world: World
  readonly #random: SeededRandom
  #accidents: Accident[] = []
  readonly #listen: StepListener = (node, step, about) => this.#strike(node, step, about)

  constructor(world: World) {
    this.#world = world
    this.#random = world.random.fork()
    world.onStep.add(this.#listen)
  }

  turn(): void {
    const random = this.#random
    if (random.chance(3)) return this.#outage()
    const step = random.pick([...steps, ...ofAttempts])
    this.#accidents.push({
      step,
      about: aboutOf(step, random),
      // Of what came of an attempt a crash leaves nothing that could be too late.
      what: random.pick(step === 'heard' ? ['pause', 'pause', 'crash'] : ['crash', 'pause']),
      node: null,
      left: random.between(1, isOfAttempts(step) ? 2 : step === 'webhook' ? 3 : 6),
    })
  }

  clear(): void {
    // Whoever is stopped goes on when its time has come.
    this.#world.onStep.delete(this.#listen)
  }

  #strike(node: SimulatedNode, step: Step, about: string): void {
    for (const accident of this.#accidents) {
      if (accident.step !== step || (accident.node ?? node) !== node) continue
      if (about !== '' && !accident.about.test(about)) continue
      accident.left -= 1
      if (accident.left > 0) continue
      this.#accidents = this.#accidents.filter((other) => other !== accident)
      if (step !== 'webhook') return this.#hit(node, accident, `at ${step} ${about}`)
      this.#accidents.push({ ...accident, step: 'commit', node, left: 1 })
    }
  }

  #hit(node: SimulatedNode, { what, step }: Accident, why: string): void {
    const { time } = this.#world
    const random = this.#random
    this.#world.inject(`node ${what}`)
    // Within the lease of what it is sending, or well past it.
    const isLong = random.chance(isOfAttempts(step) ? 80 : 50)
    const pauseMs = isLong ? random.between(21_000, 60_000) : random.between(500, 15_000)
    if (what === 'pause') {
      if (isLong) this.#world.inject('long stop')
      return node.pause(pauseMs, why)
    }
    node.crash(why)
    const backMs = random.pick([random.between(100, 5000), random.between(100, 40_000)])
    time.after(backMs, () => node.start())
  }

  /** Nobody is there, for longer than any lease lasts. */
  #outage(): void {
    const { nodes, time } = this.#world
    this.#world.inject('outage')
    const forMs = this.#random.between(35_000, 90_000)
    for (const node of nodes) {
      node.crash('with all the others')
      time.after(forMs + this.#random.below(3000), () => node.start())
    }
  }
}
