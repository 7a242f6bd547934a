/**
 * Regularly gives new audit rows their number in the order of commits. A reader also does this for
 * the rows that it needs. Without this loop, the first reader after a quiet week would have to
 * number millions of rows.
 */
import type { BackgroundLoop } from '../background-loop.ts'
import { backgroundLoop } from '../background-loop.ts'
import type { Log } from '../log.ts'
import type { Scheduler } from '../scheduler.ts'
import type { StorePart } from '../store.ts'

const everyMs = 5000

export interface AuditNumberingOptions {
  readonly store: StorePart<{ audit: 'number' }>
  readonly scheduler: Scheduler
  readonly log: Log
}

export function createAuditNumbering(options: AuditNumberingOptions): BackgroundLoop {
  const { store, scheduler, log } = options
  return backgroundLoop({
    scheduler,
    everyMs,
    pass: () => store.audit.number(),
    onError: (error) => log.warn({ err: error }, 'Could not number the audit events; trying again'),
  })
}
