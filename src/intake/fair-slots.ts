/** Limits how much work is in progress: in total, and for each repository. */
export interface SlotLimits {
  readonly total: number
  readonly perRepository: number
}

export class FairSlots {
  readonly #limits: SlotLimits
  readonly #usedBy = new Map<string, number>()
  #used = 0

  constructor(max: SlotLimits) {
    this.#limits = max
  }

  hasFree(repository: string): boolean {
    return this.#used < this.#limits.total && this.#countOf(repository) < this.#limits.perRepository
  }

  /** Returns the function that gives the slot back. */
  take(repository: string): () => void {
    this.#used += 1
    this.#usedBy.set(repository, this.#countOf(repository) + 1)
    return () => {
      this.#used -= 1
      const left = this.#countOf(repository) - 1
      if (left === 0) this.#usedBy.delete(repository)
      else this.#usedBy.set(repository, left)
    }
  }

  #countOf(repository: string): number {
    return this.#usedBy.get(repository) ?? 0
  }
}
