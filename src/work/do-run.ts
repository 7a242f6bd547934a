/**
 * Does one run, from its lease to the end that is stored.
 *
 *   executor ends   the store knows              what is done
 *   completed       –                            completed, and repeated until the store answers
 *   held            the run waits for a person   nothing
 *   stopped         lost, superseded, …          nothing: the run is somebody else's, or over
 *   stopped         this process stops           released, as the very last act
 *   completed       this process stops           completed: the work had ended before the stop
 *   cut_off         –                            given up, which counts as an attempt
 *   abandoned       –                            nothing: the lease expires, and that counts as an
 *                                                attempt
 *
 * What must hold: a result is given up only if the store says that the run is lost, or if this
 * process ends. The completion is sent after every write of the run's steps has been answered, and
 * brings the last results of steps. If it is not stored, they are sent alone: they may count. If
 * the store cannot take a completion for another reason than an outage, the run fails with that.
 */
import type { Completion } from '../domain/completion.ts'
import { isStoreAway, oddErrorsMax } from '../errors.ts'
import type { Executor, StopReason, WorkEnd } from '../executor.ts'
import type { Log } from '../log.ts'
import { refusalIn } from '../runs/kept-lease.ts'
import type { Runs } from '../runs/runs.ts'
import { delay, type Scheduler } from '../scheduler.ts'
import { failedBy, warnOf } from './failed-by.ts'
import type { LeasedRun } from './held-run.ts'

const retryMs = 1000

export interface DoRunOptions {
  readonly runs: Pick<Runs, 'complete' | 'release' | 'giveUp' | 'actOnStep'>
  readonly scheduler: Scheduler
  readonly log: Log
  readonly actor: string
  /** The work goes on although it was told to stop. */
  readonly onStuck: (work: Promise<unknown>) => void
}

/** Resolves when the run is done with, also if its work is stuck. Never rejects. */
export async function doRun(
  held: LeasedRun,
  executor: Executor,
  options: DoRunOptions,
): Promise<void> {
  const { log } = options
  const { id, type } = held.run
  const about = { run_id: id, type, round: held.run.round, attempt: held.run.attempt }
  log.info(about, 'Working on a run')
  try {
    const work = begin(held, executor).catch((error: unknown) => crashed(held, error, log))
    const stuck = stuckAfterStop(held, work, executor.stopMsMax, options)
    const end = await Promise.race([work, stuck])
    if (end.end === 'completed' && end.stillRunning) options.onStuck(end.stillRunning)
    await store(held, end, options)
    const how = held.stoppedBy ?? endWord(end)
    log.info({ ...about, end: how }, how === 'held' ? 'A run was held' : 'Done with a run')
  } catch (error) {
    const { stoppedBy } = held
    // Nobody needs the result of such a run. One that was lost otherwise may have been paid for.
    const isOver = stoppedBy !== null && withoutResult.has(stoppedBy) && refusalIn(error) !== null
    if (isOver) log.info({ ...about, end: stoppedBy }, 'Done with a run')
    else log.error({ ...about, err: error }, 'Could not store how a run ended')
  } finally {
    await held.lease.stopRenewing()
  }
}

const withoutResult: ReadonlySet<StopReason> = new Set([
  'superseded',
  'cancelled',
  'ended',
  'timeout',
])

/** Nothing begins if the process was told to stop while it took the run. */
async function begin(held: LeasedRun, executor: Executor): Promise<WorkEnd> {
  return held.signal.aborted ? { end: 'stopped' } : await executor.execute(held)
}

function crashed(held: LeasedRun, error: unknown, log: Log): WorkEnd {
  if (held.signal.aborted) return { end: 'stopped' }
  warnOf(log, error, { run_id: held.run.id }, 'The work on a run failed')
  return { end: 'completed', completion: failedBy(error) }
}

/** Resolves when work has been told to stop and goes on; never, if it stops in time. */
async function stuckAfterStop(
  held: LeasedRun,
  work: Promise<WorkEnd>,
  stopMsMax: number,
  { scheduler, onStuck, log }: DoRunOptions,
): Promise<WorkEnd> {
  const settled = new AbortController()
  void work.finally(() => settled.abort(null)).catch(() => undefined)
  await aborted(held.signal, settled.signal)
  await delay(scheduler, stopMsMax, settled.signal)
  if (!settled.signal.aborted) {
    log.error({ run_id: held.run.id }, 'The work on a run goes on although it was told to stop')
    onStuck(work)
  }
  // It may still do something, so its run is not given back before the lease ends.
  return { end: 'abandoned' }
}

/** Resolves when one of them aborts. */
function aborted(...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of signals) {
      if (signal.aborted) return resolve()
      signal.addEventListener('abort', () => resolve(), { once: true })
    }
  })
}

async function store(held: LeasedRun, end: WorkEnd, options: DoRunOptions): Promise<void> {
  const { stoppedBy } = held
  const isOver = stoppedBy !== null && stoppedBy !== 'shutdown'
  if (end.end === 'completed') {
    let isStored = false
    try {
      isStored = !isOver && (await held.lease.finish(() => complete(held, end.completion, options)))
    } finally {
      if (!isStored) await tellResults(held, end.completion, options)
    }
  } else if (isOver) return
  else if (end.end === 'cut_off') await giveBack(held, options, 'giveUp')
  else if (stoppedBy === 'shutdown' && end.end === 'stopped') {
    await giveBack(held, options, 'release')
  }
}

/** False if the store could not take it, so that the run was failed instead. */
async function complete(
  { run, leaseHash, signal }: LeasedRun,
  completion: Completion,
  { runs, scheduler, log, actor }: DoRunOptions,
): Promise<boolean> {
  let sent = completion
  for (let odd = 0; ;) {
    try {
      await runs.complete({ ...sent, runId: run.id, leaseHash }, actor)
      return sent === completion
    } catch (error) {
      if (refusalIn(error) !== null || signal.aborted) throw error
      if (!isStoreAway(error) && ++odd >= oddErrorsMax) {
        if (sent === notStorable) throw error
        sent = notStorable
      }
      log.warn({ err: error, run_id: run.id }, 'Could not store the result of a run; trying again')
      await delay(scheduler, retryMs, signal)
    }
  }
}

const notStorable: Completion = {
  outcome: 'failed',
  error: {
    code: 'result_not_stored',
    text: 'The work ended, but the store could not take its result. The log says why.',
  },
}

/** The effects of these steps have happened, so the store decides whether their results count. */
async function tellResults(
  { run, leaseHash }: LeasedRun,
  { stepResults = [] }: Completion,
  { runs, log, actor }: DoRunOptions,
): Promise<void> {
  const told = stepResults.map(async ({ result, ...step }) => {
    try {
      const action = { do: 'record', result } as const
      await runs.actOnStep({ ...step, runId: run.id, leaseHash, actor, action })
    } catch (error) {
      const about = { err: error, run_id: run.id, step: step.name }
      log.warn(about, 'The result of a step came after its run was lost')
    }
  })
  await Promise.all(told)
}

async function giveBack(
  { run, leaseHash, lease }: LeasedRun,
  { runs, log, actor }: DoRunOptions,
  how: 'release' | 'giveUp',
): Promise<void> {
  await lease.stopRenewing()
  try {
    await runs[how](run.id, leaseHash, actor)
  } catch (error) {
    log.warn(
      { err: error, run_id: run.id },
      'Could not give a run back; another process takes it when its lease has ended',
    )
  }
}

const endWord = (end: WorkEnd): string =>
  end.end === 'completed' ? end.completion.outcome : end.end
