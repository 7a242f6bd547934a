/**
 * Room for questions that are open at GitHub. One repository about which GitHub does not answer
 * fills its own share; the others' questions go on, and take turns where there is too little room.
 */
import { FairSlots } from './fair-slots.ts'

const openMax = { total: 64, perRepository: 8 }

/** Nothing was asked, and nothing has to be noted: whoever comes next begins anew. */
export class Stopping extends Error {
  constructor() {
    super('this process stops')
    this.name = 'Stopping'
  }
}

interface Waiter {
  readonly go: (leave: () => void) => void
  readonly giveUp: (error: Stopping) => void
}

export class QuestionLimits {
  readonly #open = new FairSlots(openMax)
  /** Who was let in last stands last. */
  readonly #waiting = new Map<string, Waiter[]>()
  #isStopped = false

  async within<T>(repository: string, question: () => Promise<T>): Promise<T> {
    const leave = await this.#enter(repository)
    try {
      return await question()
    } finally {
      leave()
      this.#letIn()
    }
  }

  /** From now on nobody waits for room: whoever finds some still asks, the others give up. */
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

  #letIn(): void {
    for (const [repository, waiters] of [...this.#waiting]) {
      if (!this.#open.hasFree(repository)) continue
      waiters.shift()?.go(this.#open.take(repository))
      this.#waiting.delete(repository)
      if (waiters.length > 0) this.#waiting.set(repository, waiters)
    }
  }
}
