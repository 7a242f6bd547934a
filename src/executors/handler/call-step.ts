/**
 * One call of a step's function. A function that takes too long is told to stop by its signal; if
 * it still runs five seconds later, nobody knows whether it will be done.
 */
import type { Scheduler } from '../../scheduler.ts'

/** How long a function may take to stop after its signal aborted. */
const stopMsMax = 5000

export type CallResult<T> =
  | { readonly end: 'returned'; readonly value: T }
  /** It returned after the run's signal had aborted, so its value may be only a part. */
  | { readonly end: 'stopped' }
  | { readonly end: 'threw'; readonly thrown: unknown }
  | { readonly end: 'still-running' }

export interface CallLimits {
  /** Null: no limit. */
  readonly timeoutMs: number | null
  /** Of the run. */
  readonly signal: AbortSignal
  readonly scheduler: Scheduler
}

/** Never rejects. `onLate` gets the result of a function that ended after it was
 * given up. */
export async function callStep<T>(
  work: (signal: AbortSignal) => T | Promise<T>,
  { timeoutMs, signal, scheduler }: CallLimits,
  onLate: (late: CallResult<T>) => void,
): Promise<CallResult<T>> {
  const calling = async (given: AbortSignal): Promise<CallResult<T>> => {
    try {
      const value = await work(given)
      return signal.aborted ? { end: 'stopped' } : { end: 'returned', value }
    } catch (thrown) {
      return { end: 'threw', thrown }
    }
  }
  if (timeoutMs === null) return await calling(signal)
  const tooLong = new AbortController()
  const called = calling(AbortSignal.any([signal, tooLong.signal]))
  const { promise: givenUp, resolve } = Promise.withResolvers<CallResult<T>>()
  let cancel = scheduler.after(timeoutMs, () => {
    tooLong.abort(new DOMException('the step took longer than its timeoutMs', 'TimeoutError'))
    cancel = scheduler.after(stopMsMax, () => resolve({ end: 'still-running' }))
  })
  try {
    const result = await Promise.race([called, givenUp])
    if (result.end === 'still-running') {
      void called.then(onLate)
    }
    return result
  } finally {
    cancel()
  }
}
