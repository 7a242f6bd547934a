/**
 * A store whose connection breaks: a request of a node fails although the store has done it, or
 * before the store got it. Whoever asked cannot tell which, and must ask again.
 */
import { replaceParts } from '../replace-parts.ts'
import type { SeededRandom } from '../seeded-random.ts'
import type { Store } from '../../store.ts'

export interface LostAnswersOptions {
  readonly random: SeededRandom
  readonly countFault: (kind: string) => void
  /** Called when a lease was not answered: the node looks again as if it had just started. */
  readonly onLeaseLost: () => void
}

type Verb = 'step' | 'lease' | 'completion' | 'heartbeat'
export const verbsThatLose = ['step', 'step', 'step', 'lease', 'completion', 'heartbeat'] as const

export class LostAnswers {
  readonly #options: LostAnswersOptions
  /** How many requests fail from now on, by what they ask for. */
  readonly #planned = new Map<Verb, number>()

  constructor(options: LostAnswersOptions) {
    this.#options = options
  }

  plan(verb: Verb, times: number): void {
    this.#planned.set(verb, times)
  }

  clear(): void {
    this.#planned.clear()
  }

  over(store: Store): Store {
    const { steps, runs } = store
    return replaceParts(store, {
      steps: replaceParts(steps, { act: (request) => this.#ask('step', () => steps.act(request)) }),
      runs: replaceParts(runs, {
        leaseMany: (request) => this.#ask('lease', () => runs.leaseMany(request)),
        complete: (...given) => this.#ask('completion', () => runs.complete(...given)),
        heartbeat: (...given) => this.#ask('heartbeat', () => runs.heartbeat(...given)),
      }),
    })
  }

  async #ask<T>(verb: Verb, ask: () => Promise<T>): Promise<T> {
    const times = this.#planned.get(verb) ?? 0
    if (times === 0) return await ask()
    this.#planned.set(verb, times - 1)
    if (verb === 'lease') this.#options.onLeaseLost()
    this.#options.countFault(`store: ${verb} not answered`)
    if (this.#options.random.chance(70)) await ask()
    throw new Error('the connection to the store was lost')
  }
}
