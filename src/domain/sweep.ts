/**
 * What becomes of a run that nobody attends to. Who leased decides: a run leased by a worker goes
 * back to `pending` for the next one; a run claimed by an outside caller stays for the caller's
 * next claim, and fails `worker_lost` when none comes for ten further leases.
 */
import { attemptsExhausted } from './claim.ts'
import type { Moment, Run } from './run.ts'
import { fail, furtherLeases, hasPassed, isActive, makePending } from './run.ts'

export interface Swept {
  readonly run: Run
  /** What happened, or `later` when it only has to be looked at again at its new `dueAt`. */
  readonly what: 'failed' | 'returned' | 'later'
}

/** Null when the run is not due. */
export function sweep(run: Run, moment: Moment): Swept | null {
  if (!isActive(run) || run.dueAt === null || run.dueAt > moment.now) return null
  return run.state === 'pending' ? sweepPending(run, moment) : sweepHeld(run, moment)
}

function sweepPending(run: Run, moment: Moment): Swept {
  if (!hasPassed(run.dueAt, run, moment)) return later(run, excusedUntil(run, moment), moment.now)
  const text = `no worker took it within ${run.pendingTimeoutMs} ms`
  return { run: fail(run, 'no_worker', text, moment.now), what: 'failed' }
}

function sweepHeld(run: Run, moment: Moment): Swept {
  const { now } = moment
  if (hasPassed(run.deadlineAt, run, moment)) {
    return { run: fail(run, 'timeout', `not done after ${run.timeoutMs} ms`, now), what: 'failed' }
  }
  if (!hasPassed(run.leaseExpiresAt, run, moment))
    return later(run, excusedUntil(run, moment), moment.now)
  if (run.holder === 'worker') {
    if (run.attempt >= run.attemptsMax) {
      return { run: attemptsExhausted(run, now), what: 'failed' }
    }
    return { run: makePending({ ...run, attempt: run.attempt + 1 }, now), what: 'returned' }
  }
  const keptUntil = (run.leaseExpiresAt ?? now) + furtherLeases * run.leaseMs
  if (keptUntil > now) return later(run, keptUntil, now)
  const text = `its caller was last heard of ${now - (run.leaseExpiresAt ?? now)} ms too long ago`
  return { run: fail(run, 'worker_lost', text, now), what: 'failed' }
}

/** The end of the extra lease that an interruption gives, or sooner if the lease ends sooner. */
function excusedUntil(run: Run, { now, interruption }: Moment): number {
  const excused = Math.max((interruption?.endedAt ?? now) + run.leaseMs, now + 1)
  const { leaseExpiresAt } = run
  return leaseExpiresAt !== null && leaseExpiresAt > now
    ? Math.min(leaseExpiresAt, excused)
    : excused
}

function later(run: Run, at: number, now: number): Swept {
  const { deadlineAt } = run
  const dueAt = deadlineAt !== null && deadlineAt > now ? Math.min(at, deadlineAt) : at
  return { run: { ...run, dueAt }, what: 'later' }
}
