/**
 * The end of a command's output. However much a command writes, it needs no more memory than what
 * is kept.
 */
export class OutputTail {
  readonly #capacity: number
  /** Filled in a circle. Many commands print nothing, so it is made with the first output. */
  #ring: Buffer | null = null
  #total = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  add(output: Uint8Array): void {
    this.#ring ??= Buffer.allocUnsafe(this.#capacity)
    const kept = output.subarray(Math.max(0, output.length - this.#capacity))
    const at = (this.#total + output.length - kept.length) % this.#capacity
    const beforeEnd = kept.subarray(0, this.#capacity - at)
    this.#ring.set(beforeEnd, at)
    this.#ring.set(kept.subarray(beforeEnd.length), 0)
    this.#total += output.length
  }

  read(): Uint8Array {
    if (this.#ring === null) return new Uint8Array()
    if (!this.isCutOff) return this.#ring.subarray(0, this.#total)
    const at = this.#total % this.#capacity
    return Buffer.concat([this.#ring.subarray(at), this.#ring.subarray(0, at)])
  }

  /** There was output before what is kept. */
  get isCutOff(): boolean {
    return this.#total > this.#capacity
  }
}
