/** Repeats a call while the server or the store is away, for a limited time. */
import type { Clock } from '../../clock.ts'
import { delay, type Scheduler } from '../../scheduler.ts'
import { UnreachableError } from '../failure.ts'
import { isAway } from './run-access.ts'

const retryMs = 1000

export interface Insisting {
  readonly clock: Clock
  readonly scheduler: Scheduler
  /** Says it once, when the first try has failed. */
  readonly onAway: (error: unknown) => void
}

/**
 * Rejects with the last error after `forMs`, or at once if the call was refused. A call that gets
 * no answer at all is repeated at least once.
 */
export async function insist<T>(
  call: () => Promise<T>,
  forMs: number,
  { clock, scheduler, onAway }: Insisting,
  signal?: AbortSignal,
): Promise<T> {
  const until = clock.monotonicMs() + forMs
  for (let tries = 1; ; tries += 1) {
    try {
      return await call()
    } catch (error) {
      const isOver = clock.monotonicMs() >= until && tries > 1
      if (!isAway(error) || isOver || signal?.aborted === true) throw error
      if (tries === 1) onAway(error)
      await delay(scheduler, retryMs, signal)
    }
  }
}

/** Rejects as if nobody had answered when `signal` aborts, whatever becomes of the call. */
export async function unlessAborted<T>(call: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const giveUp = (): void => reject(new UnreachableError('unreachable', 'no answer in time'))
  if (signal.aborted) giveUp()
  signal.addEventListener('abort', giveUp)
  try {
    return await Promise.race([call, aborted])
  } finally {
    signal.removeEventListener('abort', giveUp)
  }
}
