/** A map that keeps only the newest entries. */

const keptMax = 1000

export class RecentMap<V> {
  readonly #entries = new Map<string, V>()
  #hasForgotten = false

  /** Whether an entry was dropped because there were too many. */
  get hasForgotten(): boolean {
    return this.#hasForgotten
  }

  get(key: string): V | undefined {
    return this.#entries.get(key)
  }

  keys(): Iterable<string> {
    return this.#entries.keys()
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }

  set(key: string, value: V): void {
    this.#entries.delete(key)
    this.#entries.set(key, value)
    const [oldest] = this.#entries.keys()
    if (this.#entries.size <= keptMax || oldest === undefined) return
    this.#entries.delete(oldest)
    this.#hasForgotten = true
  }
}
