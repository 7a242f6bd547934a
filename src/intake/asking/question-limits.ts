/**
 * Limits how many questions to GitHub are open at a time. If GitHub does not answer about one
 * repository, that repository fills only its own slots. The others go on and take turns.
 */
import { FairSlots } from '../fair-slots.ts'

const openMax = { total: 64, perRepository: 8 }

/** The process is stopping. The question was not asked, and nothing needs to be stored. */
export class Stopping extends Error {
  constructor() {
    super('this process is stopping')
    this.name = 'Stopping'
  }
}

interface Waiter {
  readonly go: (leave: () => void) => void
  readonly giveUp: (error: Stopping) => void
}

export class QuestionLimits {
  readonly #open = new FairSlots(openMax)
  /** In the order of their turns: a repository that had its turn goes to the end. */
  readonly #waiting = new Map<string, Waiter[]>()
  #isStopped = false

  async within<T>(repository: string, question: () => Promise<T>): Promise<T> {
    const leave = await this.#enter(repository)
    try {
      return await question()
    } finally {
      leave()
      this.#startWaiting()
    }
  }

  /** From now on nobody waits: a question with a free slot is still asked, others are given up. */
  stop(): void {
    this.#isStopped = true
    const waiting = [...this.#waiting.values()].flat()
    this.#waiting.clear()
    for (const { giveUp } of waiting) giveUp(new Stopping())
  }

  async #enter(repository: string): Promise<() => void> {
    if (this.#open.hasFree(repository)) return this.#open.take(repository)
    if (this.#isStopped) throw new Stopping()
    return await new Promise((go, giveUp) => {
      const before = this.#waiting.get(repository)
      if (before === undefined) this.#waiting.set(repository, [{ go, giveUp }])
      else before.push({ go, giveUp })
    })
  }

  #startWaiting(): void {
    for (const [repository, waiters] of [...this.#waiting]) {
      if (!this.#open.hasFree(repository)) continue
      waiters.shift()?.go(this.#open.take(repository))
      this.#waiting.delete(repository)
      if (waiters.length > 0) this.#waiting.set(repository, waiters)
    }
  }
}
