/**
 * Gives audit rows their place in the order of commits now and then. Readers do that themselves;
 * this is so that the first one after a quiet week does not meet a backlog of millions.
 */
import type { BackgroundLoop } from '../background-loop.ts'
import { backgroundLoop } from '../background-loop.ts'
import type { Log } from '../log.ts'
import type { Scheduler } from '../scheduler.ts'
import type { StorePart } from '../store.ts'

const everyMs = 5000

export interface AuditPlacerOptions {
  readonly store: StorePart<{ audit: 'number' }>
  readonly scheduler: Scheduler
  readonly log: Log
}

export function createAuditPlacer(options: AuditPlacerOptions): BackgroundLoop {
  const { store, scheduler, log } = options
  return backgroundLoop({
    scheduler,
    everyMs,
    pass: () => store.audit.number(),
    onError: (error) => log.warn({ err: error }, 'Could not number the audit events; trying again'),
  })
}
