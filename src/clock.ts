/**
 * The only file that asks the machine for the time. Everything else is given a Clock, so that tests
 * and the simulation can decide the time.
 */
import { performance } from 'node:perf_hooks'

export interface Clock {
  /** Milliseconds since 1970 by this machine's clock. It jumps when somebody sets that clock. */
  wallMs(): number
  /** Milliseconds since an arbitrary start. Never goes back and never jumps. */
  monotonicMs(): number
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
}
