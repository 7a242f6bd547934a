/**
 * What happens to a run whose holder is silent. A run leased by a worker or executor goes back to
 * `pending` for the next one. A run claimed by an outside caller waits for the caller's next claim,
 * and fails with `worker_lost` after ten more leases. A run that waits for a person's decision
 * about a step has no holder; it fails with `step_unresolved` after a week.
 */
import { limitWords, measuredWords } from './duration.ts'
import type { Moment, Run } from './run.ts'
import { endOf, exhaust, fail, furtherLeases, hasPassed, isActive, makePending } from './run.ts'
import { isHeldForPerson, tokenHasEnded } from './run.ts'
import { heldStepMs } from './step.ts'

export interface SweepResult {
  readonly run: Run
  /** What happened, or `later` when it only has to be checked again at its new `dueAt`. */
  readonly what: 'failed' | 'returned' | 'later'
}

/** Null when the run is not due. */
export function sweep(run: Run, moment: Moment): SweepResult | null {
  if (!isActive(run) || run.dueAt === null || run.dueAt > moment.now) return null
  if (run.state === 'pending') return sweepPending(run, moment)
  return isHeldForPerson(run) ? sweepUndecided(run, moment) : sweepHeld(run, moment)
}

function sweepUndecided(run: Run, { now }: Moment): SweepResult {
  const text = `nobody decided about its held step within ${limitWords(heldStepMs)}`
  return { run: fail(run, 'step_unresolved', text, now), what: 'failed' }
}

function sweepPending(run: Run, moment: Moment): SweepResult {
  const { now } = moment
  const endsAt = endOf(run.dueAt ?? now, run, moment)
  if (endsAt > now) return later(run, endsAt)
  const text = `no worker took it within ${limitWords(run.pendingTimeoutMs)}`
  return { run: fail(run, 'no_worker', text, now), what: 'failed' }
}

function sweepHeld(run: Run, moment: Moment): SweepResult {
  const { now } = moment
  const tokenEnded = tokenHasEnded(run, now)
  const leaseEndsAt = tokenEnded ? now : endOf(run.leaseExpiresAt ?? now, run, moment)
  const deadlineEndsAt = endOf(run.deadlineAt ?? Infinity, run, moment)
  if (deadlineEndsAt <= now) return timeOut(run, now)
  if (leaseEndsAt > now) return later(run, Math.min(leaseEndsAt, deadlineEndsAt))
  if (run.holder !== 'caller') {
    // The holder was not lost: its token was revoked or ran out.
    return tokenEnded ? { run: makePending(run, now), what: 'returned' } : loseHolder(run, now)
  }
  const keptUntil = (run.leaseExpiresAt ?? now) + furtherLeases * run.leaseMs
  const keptEndsAt = endOf(keptUntil, run, moment)
  if (keptEndsAt > now) return later(run, Math.min(keptEndsAt, deadlineEndsAt))
  const silent = measuredWords(now - (run.leaseExpiresAt ?? now))
  const text = `its caller sent nothing for ${silent} after its lease ended`
  return { run: fail(run, 'worker_lost', text, now), what: 'failed' }
}

function timeOut(run: Run, now: number): SweepResult {
  const text = `not done after ${limitWords(run.timeoutMs)}`
  return { run: fail(run, 'timeout', text, now), what: 'failed' }
}

/** For a run whose holder says that its work was cut off, and that nothing of it goes on. */
export function giveUp(run: Run, moment: Moment): SweepResult {
  const isTooLate = hasPassed(run.deadlineAt, run, moment)
  return isTooLate ? timeOut(run, moment.now) : loseHolder(run, moment.now)
}

/** For a run that was leased, and whose holder is known to be lost. */
export function loseHolder(run: Run, now: number): SweepResult {
  if (run.attempt >= run.attemptsMax) return { run: exhaust(run, now), what: 'failed' }
  return { run: makePending({ ...run, attempt: run.attempt + 1 }, now), what: 'returned' }
}

function later(run: Run, dueAt: number): SweepResult {
  return { run: { ...run, dueAt }, what: 'later' }
}
