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
const creatingChannels = /github-review|github-comment|github-check/

/** Steps of one attempt: there are few of them, and most stops there outlast its lease. */
const attemptSteps = ['begun', 'heard', 'heard'] as const satisfies Step[]
const isAttemptStep = (step: Step): boolean => attemptSteps.some((one) => one === step)

function pickPattern(step: Step, random: SeededRandom): RegExp {
  if (isAttemptStep(step)) return random.pick([creatingChannels, /^/, /^/])
  return step !== 'webhook' && random.chance(70) ? contentWrite : /^/
}

interface PlannedNodeFault {
  readonly step: Step
  /** What it has to be about, at steps that are about something. */
  readonly pattern: RegExp
  readonly kind: 'crash' | 'pause'
  /** Null for whoever comes there first. */
  readonly node: SimulatedNode | null
  remaining: number
}

export class NodeFaults implements FaultKind {
  readonly #world: World
  readonly #random: SeededRandom
  #planned: PlannedNodeFault[] = []
  readonly #listen: StepListener = (node, step, about) => this.#onStep(node, step, about)

  constructor(world: World) {
    this.#world = world
    this.#random = world.random.fork()
    world.onStep.add(this.#listen)
  }

  inject(): void {
    const random = this.#random
    if (random.chance(3)) return this.#outage()
    const step = random.pick([...steps, ...attemptSteps])
    this.#planned.push({
      step,
      pattern: pickPattern(step, random),
      // Of what came of an attempt a crash leaves nothing that could be too late.
      kind: random.pick(step === 'heard' ? ['pause', 'pause', 'crash'] : ['crash', 'pause']),
      node: null,
      remaining: random.between(1, isAttemptStep(step) ? 2 : step === 'webhook' ? 3 : 6),
    })
  }

  clear(): void {
    // Whoever is stopped goes on when its time has come.
    this.#world.onStep.delete(this.#listen)
  }

  #onStep(node: SimulatedNode, step: Step, about: string): void {
    for (const accident of this.#planned) {
      if (accident.step !== step || (accident.node ?? node) !== node) continue
      if (about !== '' && !accident.pattern.test(about)) continue
      accident.remaining -= 1
      if (accident.remaining > 0) continue
      this.#planned = this.#planned.filter((other) => other !== accident)
      if (step !== 'webhook') return this.#hit(node, accident, `at ${step} ${about}`)
      this.#planned.push({ ...accident, step: 'commit', node, remaining: 1 })
    }
  }

  #hit(node: SimulatedNode, { kind, step }: PlannedNodeFault, why: string): void {
    const { time } = this.#world
    const random = this.#random
    this.#world.countFault(`node ${kind}`)
    // Within the lease of what it is sending, or well past it.
    const isLong = random.chance(isAttemptStep(step) ? 80 : 50)
    const pauseMs = isLong ? random.between(21_000, 60_000) : random.between(500, 15_000)
    if (kind === 'pause') {
      if (isLong) this.#world.countFault('long stop')
      return node.pause(pauseMs, why)
    }
    node.crash(why)
    const backMs = random.pick([random.between(100, 5000), random.between(100, 40_000)])
    time.after(backMs, () => node.start())
  }

  /** Nobody is there, for longer than any lease lasts. */
  #outage(): void {
    const { nodes, time } = this.#world
    this.#world.countFault('outage')
    const forMs = this.#random.between(35_000, 90_000)
    for (const node of nodes) {
      node.crash('with all the others')
      time.after(forMs + this.#random.below(3000), () => node.start())
    }
  }
}
