/**
 * The only file that sets timers. Everything else is given a Scheduler, so that tests can fire
 * timers themselves and the simulation runs years in seconds.
 */

export type Cancel = () => void

export interface Scheduler {
  /** Runs `task` in the next turn of the event loop, after everything that is already queued. */
  soon(task: () => void): void
  /** Runs `task` once after `ms`. A waiting timer keeps the process alive. */
  after(ms: number, task: () => void): Cancel
  /** The same for background loops, but a waiting timer does not keep the process alive. */
  afterInBackground(ms: number, task: () => void): Cancel
}

export const systemScheduler: Scheduler = {
  soon: (task) => void setImmediate(task),
  after: (ms, task) => {
    const timer = setTimeout(task, ms)
    return () => clearTimeout(timer)
  },
  afterInBackground: (ms, task) => {
    const timer = setTimeout(task, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}

/** Resolves after `ms` or when `signal` aborts. It never rejects, so callers check the signal. */
export function delay(scheduler: Scheduler, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve()
    const cancel = scheduler.after(ms, done)
    signal?.addEventListener('abort', done, { once: true })
    function done(): void {
      cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
  })
}

/**
 * The result of `work`, or `otherwise` if it takes longer than `ms`. Work that takes longer goes
 * on, and its failure is ignored.
 */
export async function within<T, O>(
  scheduler: Scheduler,
  ms: number,
  work: Promise<T>,
  otherwise: O,
): Promise<T | O> {
  const { promise: tooLate, resolve } = Promise.withResolvers<O>()
  const cancel = scheduler.after(ms, () => resolve(otherwise))
  work.catch(() => undefined)
  try {
    return await Promise.race([work, tooLate])
  } finally {
    cancel()
  }
}
