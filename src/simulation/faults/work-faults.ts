/**
 * Faults of nodes that execute runs, and of the queue that wakes them. A node crashes or pauses
 * around an effect or around what a step stores; its store does not answer; the queue is emptied,
 * or away for a while.
 */
import { workSteps } from '../node-ports.ts'
import type { SeededRandom } from '../seeded-random.ts'
import { verbsThatLose } from '../work/lost-answers.ts'
import type { SimulatedWork } from '../work/simulated-work.ts'
import type { World } from '../world.ts'
import type { FaultKind } from './fault-injector.ts'
import { NodeFaults } from './node-faults.ts'

export class WorkFaults implements FaultKind {
  readonly #world: World
  readonly #work: SimulatedWork
  readonly #random: SeededRandom
  readonly #nodes: NodeFaults
  #isOver = false

  constructor(world: World, work: SimulatedWork) {
    this.#world = world
    this.#work = work
    this.#random = work.random.fork()
    this.#nodes = new NodeFaults(world, work.random.fork())
  }

  inject(): void {
    const random = this.#random
    if (random.chance(50)) {
      return this.#nodes.add({
        step: random.pick([...workSteps, 'after effect']),
        pattern: /^/,
        kind: random.pick(['crash', 'pause']),
        node: null,
        remaining: random.between(1, 3),
      })
    }
    if (random.chance(50)) {
      return this.#work.lostAnswers.plan(random.pick(verbsThatLose), random.between(1, 3))
    }
    if (random.chance(50)) this.#emptyQueue()
    else this.#takeQueueAway()
  }

  clear(): void {
    this.#isOver = true
    this.#nodes.clear()
    this.#work.lostAnswers.clear()
    this.#work.queue?.setAway(false)
  }

  #emptyQueue(): void {
    if (this.#work.queue === null) return
    this.#world.countFault('queue emptied')
    this.#world.story.add('queue', 'is emptied')
    this.#work.queue.empty()
  }

  #takeQueueAway(): void {
    const { queue } = this.#work
    if (queue === null) return
    this.#world.countFault('queue away')
    this.#world.story.add('queue', 'is away')
    queue.setAway(true)
    this.#world.time.after(this.#random.between(5000, 60_000), () => {
      if (!this.#isOver) queue.setAway(false)
    })
  }
}
