/** How much is in hand, of all and of each party: beyond its share a party's own have to wait. */
export interface Shares {
  readonly ofAll: number
  readonly ofParty: number
}

export class PartyCounts {
  readonly #max: Shares
  readonly #ofParty = new Map<string, number>()
  #ofAll = 0

  constructor(max: Shares) {
    this.#max = max
  }

  hasRoom(party: string): boolean {
    return this.#ofAll < this.#max.ofAll && this.#countOf(party) < this.#max.ofParty
  }

  /** Answers how to leave again. */
  enter(party: string): () => void {
    this.#ofAll += 1
    this.#ofParty.set(party, this.#countOf(party) + 1)
    return () => {
      this.#ofAll -= 1
      const left = this.#countOf(party) - 1
      if (left === 0) this.#ofParty.delete(party)
      else this.#ofParty.set(party, left)
    }
  }

  #countOf(party: string): number {
    return this.#ofParty.get(party) ?? 0
  }
}
