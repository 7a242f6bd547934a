/**
 * Crashes and pauses. One node crashes or pauses at a step of its work, mostly while it publishes;
 * or all nodes are down until every lease has expired.
 */
import type { SimulatedNode } from '../node.ts'
import { steps, workSteps, type Step } from '../node-ports.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { StepListener, World } from '../world.ts'
import type { FaultKind } from './fault-injector.ts'

const contentWrite = /^(POST|PATCH|PUT|DELETE) \/repos/
const creatingChannels = /github-review|github-comment|github-check/

/** Steps of one attempt. They are rare, so they get extra weight and mostly long pauses. */
const attemptSteps = [
  'after begin attempt',
  'before end attempt',
  'before end attempt',
] as const satisfies Step[]
const isAttemptStep = (step: Step): boolean => attemptSteps.some((other) => other === step)

function pickPattern(step: Step, random: SeededRandom): RegExp {
  if (isAttemptStep(step)) return random.pick([creatingChannels, /^/, /^/])
  return step !== 'before storing webhook' && random.chance(70) ? contentWrite : /^/
}

export interface PlannedNodeFault {
  readonly step: Step
  /** The request or channel it waits for, at steps that have one. */
  readonly pattern: RegExp
  readonly kind: 'crash' | 'pause'
  /** Null for the node that reaches the step first. */
  readonly node: SimulatedNode | null
  remaining: number
}

export class NodeFaults implements FaultKind {
  readonly #world: World
  readonly #random: SeededRandom
  #planned: PlannedNodeFault[] = []
  readonly #listen: StepListener = (node, step, about) => this.#onStep(node, step, about)

  constructor(world: World, random = world.random.fork()) {
    this.#world = world
    this.#random = random
    world.onStep.add(this.#listen)
  }

  inject(): void {
    const random = this.#random
    if (random.chance(3)) return this.#outage()
    const step = random.pick([...steps, ...attemptSteps])
    this.add({
      step,
      pattern: pickPattern(step, random),
      // A crash loses the outcome. Only a pause can make the outcome arrive too late.
      kind: random.pick(
        step === 'before end attempt' ? ['pause', 'pause', 'crash'] : ['crash', 'pause'],
      ),
      node: null,
      remaining: random.between(
        1,
        isAttemptStep(step) ? 2 : step === 'before storing webhook' ? 3 : 6,
      ),
    })
  }

  add(planned: PlannedNodeFault): void {
    this.#planned.push(planned)
  }

  clear(): void {
    // A paused node continues when its pause is over.
    this.#world.onStep.delete(this.#listen)
  }

  #onStep(node: SimulatedNode, step: Step, about: string): void {
    for (const planned of this.#planned) {
      if (planned.step !== step || (planned.node ?? node) !== node) continue
      if (about !== '' && !planned.pattern.test(about)) continue
      planned.remaining -= 1
      if (planned.remaining > 0) continue
      this.#planned = this.#planned.filter((other) => other !== planned)
      if (step !== 'before storing webhook')
        return this.#hit(node, planned, about === '' ? step : `${step} (${about})`)
      this.#planned.push({ ...planned, step: 'before commit', node, remaining: 1 })
    }
  }

  #hit(node: SimulatedNode, { kind, step }: PlannedNodeFault, why: string): void {
    const { time } = this.#world
    const random = this.#random
    this.#world.countFault(`node ${kind}`)
    // A short pause ends before the lease of the delivery expires, a long one well after that.
    const isRare = isAttemptStep(step) || workSteps.some((other) => other === step)
    const isLong = random.chance(isRare ? 80 : 50)
    const pauseMs = isLong ? random.between(21_000, 60_000) : random.between(500, 15_000)
    if (kind === 'pause') {
      if (isLong) this.#world.countFault('long pause')
      return node.pause(pauseMs, why)
    }
    node.crash(why)
    const backMs = random.pick([random.between(100, 5000), random.between(100, 40_000)])
    time.after(backMs, () => node.start())
  }

  /** All nodes are down for longer than any lease lasts. */
  #outage(): void {
    const { nodes, time } = this.#world
    this.#world.countFault('all nodes down')
    const forMs = this.#random.between(35_000, 90_000)
    for (const node of nodes) {
      node.crash('together with all other nodes')
      time.after(forMs + this.#random.below(3000), () => node.start())
    }
  }
}
