/** First in, first out, in constant time however many wait; what was taken can be put back. */
export class Fifo<T> {
  /** In reverse: the next one is last. */
  #front: T[] = []
  #back: T[] = []

  get length(): number {
    return this.#front.length + this.#back.length
  }

  push(item: T): void {
    this.#back.push(item)
  }

  putBack(item: T): void {
    this.#front.push(item)
  }

  take(): T | undefined {
    if (this.#front.length === 0) {
      this.#front = this.#back.reverse()
      this.#back = []
    }
    return this.#front.pop()
  }
}
