/**
 * The handler of the simulated run types: it does the steps of its plan. Their functions are slow,
 * throw before or after the effect, ignore their signal, or never end.
 *
 * What must hold: it waits only through the ports of its node, so that a crash stops it and a pause
 * holds it back.
 */
import type { Step as StepRow } from '../../domain/step.ts'
import type { HandlerResult, RunContext, RunHandler, StepCall } from '../../run-handler.ts'
import { StepNotDone } from '../../step-errors.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { Call, Effects, Execution } from './effects.ts'
import type { PlannedStep, WorkPlan } from './work-plan.ts'

/** What a handler reaches of the world, through the ports of its node. */
export interface HandlerPorts {
  wait(ms: number): Promise<void>
  /** Does something outside; like a request, it may happen although its sender has died. */
  effect(about: string, happen: (wasDead: boolean) => void): Promise<void>
}

export interface HandlerOptions {
  readonly plan: WorkPlan
  readonly execution: Execution
  readonly ports: HandlerPorts
  readonly effects: Effects
  readonly random: SeededRandom
  readonly isQuiet: () => boolean
  /** What the store has of a step now, read past the node. */
  readonly stored: (step: string) => Promise<Pick<StepRow, 'state' | 'fence' | 'result'> | null>
  /** The clock of the store was changed, so a live lease may count as expired. */
  readonly clockChanged: () => boolean
  readonly onPublished: (name: string, text: string) => void
}

/** What a function of a step does, with its share. */
const behaviours = [
  [64, 'works'],
  [8, 'is slow'],
  [10, 'throws before'],
  [9, 'throws after'],
  [5, 'ignores its signal'],
  [2, 'never ends'],
  [2, 'nests'],
] as const
type Behaviour = (typeof behaviours)[number][1]

function pickBehaviour(random: SeededRandom): Behaviour {
  let roll = random.below(100)
  for (const [share, behaviour] of behaviours) {
    if (roll < share) return behaviour
    roll -= share
  }
  return 'works'
}

export function simulatedHandler(options: HandlerOptions): RunHandler {
  return (run) => new SimulatedHandler(run, options).work()
}

class SimulatedHandler {
  readonly #run: RunContext
  readonly #options: HandlerOptions

  constructor(run: RunContext, options: HandlerOptions) {
    this.#run = run
    this.#options = options
  }

  async work(): Promise<HandlerResult> {
    const { plan, ports, random } = this.#options
    const run = this.#run
    for (const step of plan.steps) {
      await ports.wait(random.below(2000))
      if (run.pr !== null && random.chance(20)) await run.status(`before ${step.name}`)
      await this.#step(step)
      if (step.publishes !== null) await this.#publish(`of-${step.name}`, step.publishes)
    }
    if (plan.outcome === 'succeeded') return { summary: plan.summary }
    const error = { code: 'tests_failed', text: 'the work found a mistake' }
    return { outcome: 'failed', summary: plan.summary, error }
  }

  async #publish(name: string, text: string): Promise<void> {
    const { already } = await this.#run.publish(name, { channel: 'github-comment', body: text })
    if (!already) this.#options.onPublished(name, text)
  }

  async #step(step: PlannedStep): Promise<void> {
    const { effects, execution } = this.#options
    const { name, policy, retries, timeoutMs } = step
    const limits = { retries, ...(timeoutMs !== null && { timeoutMs }) }
    const confirm = {
      inDoubt: 'confirm',
      confirm: ({ key }: StepCall) => this.#confirm(key),
    } as const
    const settled = policy === 'confirm' ? confirm : { inDoubt: policy }
    const seen = { isCalled: false }
    const value = await this.#run.step<object>(name, { ...limits, ...settled }, (call) => {
      seen.isCalled = true
      return this.#do(step, call)
    })
    if (policy === 'repeat' && seen.isCalled) return
    const row = await this.#options.stored(name)
    const isStored = row === null || seen.isCalled || row.result === JSON.stringify(value)
    effects.look(isStored, () => {
      const text = JSON.stringify(value)
      return `${name} of ${execution.runId} was given ${text}, but ${row?.result} is stored`
    })
    effects.look(row === null || row.state === 'done', () => {
      return `${name} of ${execution.runId} went on before its result was stored (${policy})`
    })
  }

  async #confirm(key: string) {
    const { ports, effects, execution, random } = this.#options
    await ports.wait(random.below(500))
    // It cannot find out.
    if (!this.#options.isQuiet() && random.chance(8)) throw new Error('cannot be reached')
    return effects.ask(key, execution) ? { done: { found: true } } : ('not-done' as const)
  }

  async #do(step: PlannedStep, { key, signal }: StepCall): Promise<object> {
    const { effects, execution } = this.#options
    const call = effects.call(key, step.name, step.policy, execution)
    await this.#checkBegun(step)
    try {
      const result = await this.#behave(step, call, signal)
      if (call.end === 'open') call.end = 'returned'
      return result
    } catch (error) {
      if (call.end === 'open') call.end = error instanceof StepNotDone ? 'not-done' : 'threw'
      throw error
    }
  }

  /** Its beginning must be stored before anything is done. */
  async #checkBegun({ name }: PlannedStep): Promise<void> {
    const { effects, execution, stored, clockChanged } = this.#options
    const row = await stored(name)
    const isOurs = row?.state === 'started' && row.fence === execution.fence
    effects.look(isOurs || (row !== null && clockChanged()), () => {
      const found = row === null ? 'not stored' : `${row.state} by ${row.fence}`
      const { runId, fence } = execution
      return `${name} of ${runId} was called by the holder ${fence}, but it is ${found}`
    })
  }

  async #behave(step: PlannedStep, call: Call, signal: AbortSignal): Promise<object> {
    const { ports, random, isQuiet } = this.#options
    const behaviour = isQuiet() ? 'works' : pickBehaviour(random)
    const { timeoutMs } = step
    switch (behaviour) {
      case 'works':
        await ports.wait(random.below(3000))
        break
      case 'is slow':
        await ports.wait(random.between(20_000, 50_000))
        break
      case 'throws before':
        await ports.wait(random.below(1000))
        throw random.chance(70) ? new StepNotDone('not now') : new Error('not now')
      case 'throws after':
        await this.#effect(call)
        throw new Error('no answer')
      case 'ignores its signal':
        if (timeoutMs !== null) call.end = 'hung'
        await ports.wait((timeoutMs ?? 0) + random.between(1000, 20_000))
        break
      case 'never ends':
        call.end = 'hung'
        return await new Promise<never>(() => undefined)
      case 'nests':
        await this.#nest(step.name)
        break
    }
    // A function that was told to stop mostly does.
    if (call.end !== 'hung' && signal.aborted && random.chance(70)) {
      throw new StepNotDone('was told to stop')
    }
    await this.#effect(call)
    await ports.wait(random.pick([0, random.below(1000), random.below(9000)]))
    return { fence: call.execution.fence, call: call.id }
  }

  async #effect(call: Call): Promise<void> {
    const { ports, effects, execution } = this.#options
    const about = `${call.step} of ${execution.runId} (${call.policy})`
    await ports.effect(about, (wasDead) => effects.do(call, wasDead))
  }

  async #nest(name: string): Promise<void> {
    const refused = await this.#run
      .step('inner', () => 'done')
      .then(
        () => 'nothing',
        (error: unknown) => (error as { readonly code?: string }).code,
      )
    this.#options.effects.look(refused === 'step_nested' || this.#run.signal.aborted, () => {
      return `a step inside ${name} was refused with ${refused}`
    })
  }
}
