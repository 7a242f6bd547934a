/**
 * Workers that do steps over the operations, as a program in another language does: begin, do,
 * record; take over, confirm or hold what an earlier holder left. They disappear in the middle.
 */
import type { StepAction } from '../../domain/step.ts'
import { stepKey } from '../../ids.ts'
import type { Leased } from '../../runs/runs.ts'
import { delay } from '../../scheduler.ts'
import type { StepAnswer, StepRequest } from '../../store.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { World } from '../world.ts'
import type { Execution } from './effects.ts'
import type { SimulatedWork } from './simulated-work.ts'
import type { PlannedStep } from './work-plan.ts'

const questionsMs = 5000
const triesMax = 3

/** Null: no answer, or the store refused it. */
type Act = (request: StepRequest) => Promise<StepAnswer | 'no answer' | 'refused'>

export interface RemoteHold {
  readonly leased: Leased
  readonly leaseHash: string
  readonly actor: string
}

export class RemoteSteps {
  readonly #world: World
  readonly #work: SimulatedWork
  readonly #random: SeededRandom
  readonly #act: Act

  constructor(world: World, work: SimulatedWork, act: Act) {
    this.#world = world
    this.#work = work
    this.#random = work.random.fork()
    this.#act = act
  }

  /** False if the worker has to stop: it has disappeared, or lost the run. */
  async doAll(hold: RemoteHold): Promise<boolean> {
    const { run, steps } = hold.leased
    const { id: runId, round, fence } = run
    const { actor } = hold
    const about = { runId, round, fence, actor, interruptedAt: [], inNode: false }
    const execution = this.#work.effects.begin(about)
    for (const step of this.#work.planOf(run).steps) {
      if (steps.some(({ name, state }) => name === step.name && state === 'done')) continue
      if (!(await this.#doOne(hold, step, execution))) return false
    }
    return true
  }

  async #doOne(hold: RemoteHold, step: PlannedStep, execution: Execution): Promise<boolean> {
    const { policy } = step
    const begun = await this.#send(hold, step, { do: 'begin', policy })
    if (begun === null) return false
    if (begun.reply === 'known') return true
    if (begun.reply !== 'in-doubt') return await this.#perform(hold, step, execution)
    if (policy === 'hold') {
      await this.#send(hold, step, { do: 'hold' })
      return false
    }
    if (policy === 'confirm' && (await this.#wasDone(step, execution))) {
      const result = JSON.stringify({ found: true })
      return (await this.#send(hold, step, { do: 'confirm', result })) !== null
    }
    const taken = await this.#send(hold, step, { do: 'take-over', policy })
    if (taken === null || taken.reply === 'known') return taken !== null
    return await this.#perform(hold, step, execution)
  }

  async #perform(hold: RemoteHold, step: PlannedStep, execution: Execution): Promise<boolean> {
    const { time, isQuiet } = this.#world
    const { effects } = this.#work
    const random = this.#random
    const call = effects.call(keyOf(step, execution), step.name, step.policy, execution)
    await delay(time, random.below(1500))
    const roll = isQuiet ? 99 : random.below(100)
    if (roll >= 6) effects.do(call, false)
    if (roll < 12) {
      this.#world.countFault('worker lost in a step')
      return false
    }
    await delay(time, random.below(1500))
    call.end = 'returned'
    const result = JSON.stringify({ fence: execution.fence, call: call.id })
    return (await this.#send(hold, step, { do: 'record', result })) !== null
  }

  async #wasDone(step: PlannedStep, execution: Execution): Promise<boolean> {
    const key = keyOf(step, execution)
    if (this.#work.effects.ask(key, execution)) return true
    await delay(this.#world.time, questionsMs)
    return this.#work.effects.ask(key, execution)
  }

  /** Repeats it while no answer comes. Null: it has to stop. */
  async #send(
    { leased, leaseHash, actor }: RemoteHold,
    { name }: PlannedStep,
    action: StepAction,
  ): Promise<StepAnswer | null> {
    const { id: runId } = leased.run
    const startId = `${actor} ${name}`
    for (let tries = 0; tries < triesMax; tries += 1) {
      const request = { runId, leaseHash, actor, name, startId, codeVersion: null, action }
      const answer = await this.#act(request)
      if (answer === 'refused') return null
      if (answer !== 'no answer') return answer.reply === 'late' ? null : answer
    }
    return null
  }
}

const keyOf = ({ name }: PlannedStep, { runId, round }: Execution): string =>
  stepKey({ runId, round, name })
