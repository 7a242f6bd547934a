/**
 * The run as its handler has it: until the handler returns or throws, and while the run is held.
 * After that nothing of the run may begin: no call on `run`, no step, no retry, no request.
 */
import { StopWork, type HeldRun } from '../../executor.ts'

export class HandledRun {
  readonly held: HeldRun
  readonly #writes = new Set<Promise<unknown>>()
  readonly #over = new AbortController()

  constructor(held: HeldRun) {
    this.held = held
    const stop = (): void => this.#over.abort(held.signal.reason)
    if (held.signal.aborted) stop()
    else held.signal.addEventListener('abort', stop, { once: true, signal: this.#over.signal })
  }

  /** Aborts when the handler has ended, or the work has to stop. Its reason is a StopWork. */
  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** The handler has returned or thrown. */
  end(): void {
    if (!this.signal.aborted) this.#over.abort(new StopWork('ended'))
  }

  /** A write to the store. The run is completed or given back only after the store's answer. */
  async write<T>(write: () => Promise<T>): Promise<T> {
    const writing = write()
    this.#writes.add(writing)
    try {
      return await writing
    } finally {
      this.#writes.delete(writing)
    }
  }

  /** Resolves when the store has answered for every write. */
  async written(): Promise<void> {
    while (this.#writes.size > 0) await Promise.allSettled(this.#writes)
  }

  /** Throws the reason of the signal once it has aborted. */
  checkOpen(): void {
    this.signal.throwIfAborted()
  }

  /** The same after the lease is live by the monotonic clock. An effect starts only after this. */
  async ensureLive(): Promise<void> {
    this.checkOpen()
    await this.held.ensureLive()
    this.checkOpen()
  }
}
