/**
 * The only file that sets timers. Background work asks a Scheduler, so that tests fire timers by
 * hand and the simulation runs years in seconds.
 */

export type Cancel = () => void

export interface Scheduler {
  /** Runs `task` in the next turn of the event loop, after what is already queued in this one. */
  soon(task: () => void): void
  /** Runs `task` once after `ms`. A waiting timer keeps the process alive. */
  after(ms: number, task: () => void): Cancel
  /** The same for background loops: a process with nothing else to do may end. */
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

/** Resolves after `ms` or when `signal` aborts; never rejects, so callers check the signal. */
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
