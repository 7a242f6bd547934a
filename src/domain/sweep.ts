/**
 * What happens to a run whose holder is silent. A run leased by a worker or executor goes back to
 * `pending` for the next one. A run claimed by an outside caller waits for the caller's next claim,
 * and fails with `worker_lost` after ten more leases. A run that waits for a person's decision
 * about a step has no holder; it fails with `step_unresolved` after a week.
 */
import { limitWords, measuredWords } from './duration.ts'
import type { Interruption, Moment, Run } from './run.ts'
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
  const endsAt = endOfWait(run, moment)
  if (endsAt > now) return later(run, endsAt)
  const text = `no worker took it within ${limitWords(run.pendingTimeoutMs)}`
  return { run: fail(run, 'no_worker', text, now), what: 'failed' }
}

/**
 * When a run has waited long enough for a worker. No worker could take it in an interruption, so
 * its whole length is added, and at least a lease for workers to come back. An interruption is
 * added once, by whichever of the two gives more time: from the beginning of the wait, as far back
 * as interruptions are remembered, or to an end that was put off before.
 */
function endOfWait(run: Run, moment: Moment): number {
  const { now, interruptions } = moment
  const dueAt = run.dueAt ?? now
  const since = run.availableAt ?? dueAt
  const current = interruptions.filter(({ endedAt }) => endedAt >= dueAt)
  return Math.max(
    endOf(dueAt, run, moment),
    withoutInterruptions(since, since + run.pendingTimeoutMs, interruptions),
    withoutInterruptions(since, dueAt, current),
  )
}

/** The end of a wait for which only the time between the interruptions counts. */
function withoutInterruptions(
  since: number,
  until: number,
  interruptions: readonly Interruption[],
): number {
  let end = until
  let addedTo = since
  for (const { beganAt, endedAt } of interruptions) {
    const from = Math.max(beganAt, addedTo)
    if (from >= end || endedAt <= from) continue
    end += endedAt - from
    addedTo = endedAt
  }
  return end
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
