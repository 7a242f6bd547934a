/**
 * People and programs around the work of nodes: programs claim jobs, and operators decide about
 * held steps. An operator says the truth as far as anybody can see it.
 */
import { stepKey } from '../../ids.ts'
import type { SeededRandom } from '../seeded-random.ts'
import { jobType } from '../work/open-work.ts'
import type { SimulatedWork } from '../work/simulated-work.ts'
import type { World } from '../world.ts'
import type { ActorKind } from './actors.ts'

const heldQuery = `SELECT step.run_id AS runId, step.round, step.name FROM step
  JOIN run ON run.id = step.run_id AND run.round = step.round
  WHERE step.state = 'held' AND run.state = 'waiting' ORDER BY run.id`

interface HeldStep {
  readonly runId: string
  readonly round: number
  readonly name: string
}

export class WorkActors implements ActorKind {
  readonly #world: World
  readonly #work: SimulatedWork
  readonly #random: SeededRandom
  #jobs = 0

  constructor(world: World, work: SimulatedWork) {
    this.#world = world
    this.#work = work
    this.#random = work.random.fork()
  }

  act(): void {
    for (let jobs = this.#random.below(3); jobs > 0; jobs -= 1) void this.#claimJob()
    void this.decide()
  }

  async #claimJob(): Promise<void> {
    const { story } = this.#world
    const running = this.#world.someNode(this.#random)?.running ?? null
    if (running === null) return
    const key = `job-${(this.#jobs += 1)}`
    // Some wait for each other.
    const subject = this.#random.chance(40) ? { subject: 'shared' } : {}
    story.add('caller', `claims ${key}`)
    await running.runs
      .claim({ kind: 'job', type: jobType, key, ...subject, lease: false }, 'caller')
      .catch((error: unknown) => story.add('caller', `failed: ${String(error)}`))
  }

  /** Decides about some of the held steps; in quiet hours about all. */
  async decide(): Promise<void> {
    const held = (await this.#world.memory.select(heldQuery)) as unknown as readonly HeldStep[]
    const { isQuiet } = this.#world
    for (const step of held) if (isQuiet || this.#random.chance(40)) void this.#decideOne(step)
  }

  async #decideOne({ runId, round, name }: HeldStep): Promise<void> {
    const { story } = this.#world
    const running = this.#world.someNode(this.#random)?.running ?? null
    if (running === null) return
    const { effects } = this.#work
    const key = stepKey({ runId, round, name })
    const isDone = effects.timesDone(key) > 0
    const action = isDone ? 'confirm' : this.#random.chance(70) ? 'repeat' : 'fail'
    if (action === 'repeat') effects.repeatAsked(key)
    this.#world.countFault(`operator: ${action} step`)
    story.add('operator', `${action} ${name} of ${runId}`)
    const decisions = {
      confirm: { do: 'confirm', result: JSON.stringify({ found: true }) },
      repeat: { do: 'repeat' },
      fail: { do: 'fail', text: null },
    } as const
    const decision = decisions[action]
    await running.runs
      .decideStep({ runId, name, actor: 'operator', decision })
      .catch((error: unknown) => story.add('operator', `failed: ${String(error)}`))
  }
}
