/**
 * The server's sign of life, once a second on its own timer. Long work must not look like a
 * downtime, because after a downtime every lease is extended.
 */
import type { BackgroundLoop } from '../background-loop.ts'
import { backgroundLoop } from '../background-loop.ts'
import type { Log } from '../log.ts'
import type { Scheduler } from '../scheduler.ts'
import type { StorePart } from '../store.ts'

const everyMs = 1000

export interface PulseOptions {
  readonly store: StorePart<{ upkeep: 'beat' }>
  readonly scheduler: Scheduler
  readonly log: Log
}

export function createPulse({ store, scheduler, log }: PulseOptions): BackgroundLoop {
  return backgroundLoop({
    scheduler,
    everyMs,
    pass: () => store.upkeep.beat(),
    onError: (error) => log.warn({ err: error }, 'The database does not answer; trying again'),
  })
}
