/**
 * What steps did in the outside world. It is kept outside the store, by the key of the step, so the
 * rules can compare it with what the store says.
 */
import type { StepPolicy } from '../../domain/step.ts'
import type { VirtualTime } from '../virtual-time.ts'

/** One holder at work on one run: from its lease to its end. */
export interface Execution {
  readonly runId: string
  readonly round: number
  readonly fence: number
  readonly actor: string
  /** True time. */
  readonly at: number
  /** When its process crashed or was stopped, by true time. */
  readonly interruptedAt: readonly number[]
  /** False for a worker that reaches the store over the operations. */
  readonly inNode: boolean
}

/** A function of a step was called. */
export interface Call {
  readonly id: number
  readonly key: string
  readonly step: string
  readonly policy: StepPolicy
  readonly execution: Execution
  readonly at: number
  /** How it ended, as far as anybody saw. `hung`: it went on after it was told to stop. */
  end: 'open' | 'returned' | 'threw' | 'not-done' | 'hung'
}

export interface Effect {
  readonly id: number
  readonly call: Call
  readonly at: number
  /** The process had died before the effect happened. */
  readonly wasDead: boolean
  /** How often an operator had asked to repeat the step by then. */
  readonly repeatsAsked: number
}

/** Somebody asked whether a step was done, or took it over. */
export interface Question {
  readonly id: number
  readonly key: string
  readonly execution: Execution
}

export class Effects {
  readonly executions: Execution[] = []
  readonly calls: Call[] = []
  readonly effects: Effect[] = []
  readonly questions: Question[] = []
  /** What was seen at once to be wrong, and how many such looks there were. */
  readonly problems: string[] = []
  looks = 0
  readonly #time: VirtualTime
  readonly #done = new Map<string, number>()
  readonly #repeatsAsked = new Map<string, number>()
  #last = 0

  constructor(time: VirtualTime) {
    this.#time = time
  }

  begin(execution: Omit<Execution, 'at'>): Execution {
    const begun = { ...execution, at: this.#time.trueMs() }
    this.executions.push(begun)
    return begun
  }

  call(key: string, step: string, policy: StepPolicy, execution: Execution): Call {
    const at = this.#time.trueMs()
    const call: Call = { id: this.#next(), key, step, policy, execution, at, end: 'open' }
    this.calls.push(call)
    return call
  }

  /** Does it, and returns what the outside world answers. */
  do(call: Call, wasDead: boolean): void {
    const { key } = call
    this.#done.set(key, this.timesDone(key) + 1)
    const repeatsAsked = this.#repeatsAsked.get(key) ?? 0
    this.effects.push({ id: this.#next(), call, at: this.#time.trueMs(), wasDead, repeatsAsked })
  }

  ask(key: string, execution: Execution): boolean {
    this.questions.push({ id: this.#next(), key, execution })
    return this.timesDone(key) > 0
  }

  timesDone(key: string): number {
    return this.#done.get(key) ?? 0
  }

  /** An operator asks Holdfast to do the step again. Whether the answer arrives is not known. */
  repeatAsked(key: string): void {
    this.#repeatsAsked.set(key, (this.#repeatsAsked.get(key) ?? 0) + 1)
  }

  look(holds: boolean, text: () => string): void {
    this.looks += 1
    if (!holds) this.problems.push(text())
  }

  #next(): number {
    return (this.#last += 1)
  }
}
