/**
 * How many runs of one type this process works on at a time.
 *
 * What must hold: a run that a person asked for has one slot more than `concurrency`, so automatic
 * runs that are stuck never keep it waiting. A slot is given back when its work has stopped. Work
 * that goes on although it was told to stop is stuck: its slot is given back too, because its run
 * is over, but it is counted. If there are as many of them as slots, the process should end.
 */
export class Slots {
  readonly #concurrency: number
  #used = 0
  #extraUsed = false
  #stuck = 0

  constructor(concurrency: number) {
    this.#concurrency = concurrency
  }

  /** Slots for any run. */
  get free(): number {
    return this.#concurrency - this.#used
  }

  /** Only a run that a person asked for may be leased now. */
  get onlyForAsked(): boolean {
    return this.free === 0 && this.hasExtra
  }

  /** The slot that is only for a run that a person asked for is free. */
  get hasExtra(): boolean {
    return !this.#extraUsed
  }

  get isFull(): boolean {
    return this.free === 0 && this.#extraUsed
  }

  get allStuck(): boolean {
    return this.#stuck >= this.#concurrency
  }

  /** Takes a slot. Returns the function that gives it back, which may be called more than once. */
  take(): () => void {
    const isExtra = this.free === 0
    if (isExtra) this.#extraUsed = true
    else this.#used++
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      if (isExtra) this.#extraUsed = false
      else this.#used--
    }
  }

  /** Counts work that does not stop, until it does. */
  async countStuck(work: Promise<unknown>): Promise<void> {
    this.#stuck++
    await work.catch(() => undefined)
    this.#stuck--
  }
}
