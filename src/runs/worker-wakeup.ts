/**
 * Wakes workers that wait for a run. Waking is only a hint: a woken worker asks the store. One run
 * wakes one worker, and a worker that got a run wakes the next, so many idle workers cost nothing.
 * Runs that another process made available are found by one query for all waiting workers (one per
 * set of repositories, if their tokens are limited).
 */
import type { RepositoryLimit } from '../domain/token-limits.ts'
import type { Cancel, Scheduler } from '../scheduler.ts'
import type { StorePart } from '../store.ts'
import type { LeaseRunRequest } from './runs.ts'

const pollMs = 500

export interface WantedRuns {
  /** Undefined: any type that nobody else executes. */
  readonly types: readonly string[] | undefined
  /** Only runs of these; null: any repository. */
  readonly repositories: readonly RepositoryLimit[] | null
  /** The worker wants one particular run, and polls for it itself. */
  readonly wantsOneRun: boolean
}

interface Waiter extends WantedRuns {
  readonly wake: () => void
}

export class WorkerWakeup {
  readonly #store: StorePart<{ runs: 'availableTypes' }>
  readonly #scheduler: Scheduler
  readonly #executed: readonly string[]
  readonly #waiters = new Set<Waiter>()
  #cancelPoll: Cancel | null = null

  /** `executed`: types that are only for workers who name them. */
  constructor(
    store: StorePart<{ runs: 'availableTypes' }>,
    scheduler: Scheduler,
    executed: readonly string[],
  ) {
    this.#store = store
    this.#scheduler = scheduler
    this.#executed = executed
  }

  /** A run of this type may have become available. */
  wakeOne(type: string): void {
    // Workers without limits are woken first: the others may not be able to take this run.
    let limitedWaiter: Waiter | null = null
    for (const waiter of this.#waiters) {
      if (!this.#takes(waiter, type)) continue
      if (waiter.repositories === null && !waiter.wantsOneRun) return waiter.wake()
      limitedWaiter ??= waiter
    }
    limitedWaiter?.wake()
  }

  /** Resolves when it is woken for one of its types, after `ms`, or when `stop` aborts. */
  wait(wanted: WantedRuns, ms: number, stop?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (stop?.aborted === true) return resolve()
      const wake = (): void => {
        this.#waiters.delete(waiter)
        cancelTimer()
        stop?.removeEventListener('abort', wake)
        resolve()
      }
      const waiter: Waiter = { ...wanted, wake }
      const cancelTimer = this.#scheduler.after(ms, wake)
      stop?.addEventListener('abort', wake)
      this.#waiters.add(waiter)
      this.#poll()
    })
  }

  #poll(): void {
    if (this.#cancelPoll !== null || this.#waiters.size === 0) return
    this.#cancelPoll = this.#scheduler.afterInBackground(pollMs, () => {
      void this.#findRuns().finally(() => {
        this.#cancelPoll = null
        this.#poll()
      })
    })
  }

  async #findRuns(): Promise<void> {
    const looking = [...this.#waiters].filter(({ wantsOneRun }) => !wantsOneRun)
    const groups = Map.groupBy(looking, ({ repositories }) => JSON.stringify(repositories))
    try {
      for (const group of groups.values()) await this.#findRunsFor(group)
    } catch {
      // The store cannot be reached: each worker learns that when its wait is over.
    }
  }

  /** One query for all workers with the same repositories; wakes one worker per type. */
  async #findRunsFor(group: readonly Waiter[]): Promise<void> {
    const allNameTypes = group.every(({ types }) => types !== undefined)
    const types = [...new Set(group.flatMap((waiter) => waiter.types ?? []))]
    const { repositories = null } = group[0] ?? {}
    const allBut = allNameTypes ? null : this.#executed
    for (const type of await this.#store.runs.availableTypes(types, allBut, repositories)) {
      group.find((waiter) => this.#waiters.has(waiter) && this.#takes(waiter, type))?.wake()
    }
  }

  #takes({ types, wantsOneRun }: Waiter, type: string): boolean {
    if (types === undefined) return wantsOneRun || !this.#executed.includes(type)
    return types.includes(type)
  }
}

/** The types and repositories that a worker asks for, within the limits of its token. */
export function waitScopeOf({ types, within }: LeaseRunRequest) {
  const reached = within?.types ?? null
  const wanted =
    reached === null ? types : (types ?? reached).filter((one) => reached.includes(one))
  return { types: wanted, repositories: within?.repositories ?? null }
}
