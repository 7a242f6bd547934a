/**
 * The run as its handler has it: until the handler returns or throws, and while the run is held.
 * After that nothing of the run may begin: no call on `run`, no step, no retry, no request.
 *
 * What must hold: the handler's code belongs to its run (`current-run`), also where it listens to
 * the signal. What Holdfast does in the store for it belongs to no run.
 */
import { asRun, outsideRuns } from '../../current-run.ts'
import { StopWork, type HeldRun } from '../../executor.ts'

export class HandledRun {
  readonly held: HeldRun
  readonly #writes = new Set<Promise<unknown>>()
  readonly #over = new AbortController()

  constructor(held: HeldRun) {
    this.held = held
    const stop = (): void => this.#abort(held.signal.reason)
    if (held.signal.aborted) stop()
    else held.signal.addEventListener('abort', stop, { once: true, signal: this.#over.signal })
  }

  /** Aborts when the handler has ended, or the work has to stop. Its reason is a StopWork. */
  get signal(): AbortSignal {
    return this.#over.signal
  }

  /** The handler has returned or thrown. */
  end(): void {
    if (!this.signal.aborted) this.#abort(new StopWork('ended'))
  }

  /** Listeners run as part of whatever aborts. Those of a handler belong to its run. */
  #abort(reason: unknown): void {
    asRun(this.held.run, () => this.#over.abort(reason))
  }

  /** A write to the store. The run is completed or given back only after the store's answer. */
  async write<T>(write: () => Promise<T>): Promise<T> {
    const writing = outsideRuns(write)
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

  /** See HeldRun. */
  async askStore<T>(ask: () => Promise<T>): Promise<T> {
    return await outsideRuns(() => this.held.askStore(ask))
  }

  /** Throws the reason of the signal once it has aborted. */
  checkOpen(): void {
    this.signal.throwIfAborted()
  }

  /** The same after the lease is live by the monotonic clock. An effect starts only after this. */
  async ensureLive(): Promise<void> {
    this.checkOpen()
    await outsideRuns(() => this.held.ensureLive())
    this.checkOpen()
  }
}
