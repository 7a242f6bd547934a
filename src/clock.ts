/**
 * The only file that asks the machine for the time. Everything else is handed a Clock, so that
 * tests and the simulation can own time.
 */
import { performance } from 'node:perf_hooks'

export interface Clock {
  /** Milliseconds since 1970 by this machine's clock. May jump when somebody sets it. */
  wallMs(): number
  /** Milliseconds since an arbitrary start. Never goes back and never jumps. */
  monotonicMs(): number
}

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
}
