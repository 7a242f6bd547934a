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
 * process ends. The completion is sent after every write of the run's steps has been answered.
 */
import type { Completion } from '../domain/completion.ts'
import type { Executor, WorkEnd } from '../executor.ts'
import type { Log } from '../log.ts'
import { refusalIn } from '../runs/kept-lease.ts'
import type { Runs } from '../runs/runs.ts'
import { delay, type Scheduler } from '../scheduler.ts'
import { failedBy, warnOf } from './failed-by.ts'
import type { LeasedRun } from './held-run.ts'

const retryMs = 1000

export interface DoRunOptions {
  readonly runs: Pick<Runs, 'complete' | 'release' | 'giveUp'>
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
    const work = executor.execute(held).catch((error: unknown) => crashed(held, error, log))
    const stuck = stuckAfterStop(held, work, executor.stopMsMax, options)
    const end = await Promise.race([work, stuck])
    if (end.end === 'completed' && end.stillRunning) options.onStuck(end.stillRunning)
    await store(held, end, options)
    log.info({ ...about, end: held.stoppedBy ?? endWord(end) }, 'Done with a run')
  } catch (error) {
    log.error({ ...about, err: error }, 'Could not store how a run ended')
  } finally {
    await held.lease.stopRenewing()
  }
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
  if (stoppedBy !== null && stoppedBy !== 'shutdown') return
  if (end.end === 'completed') {
    await held.lease.finish(() => complete(held, end.completion, options))
  } else if (end.end === 'cut_off') await giveBack(held, options, 'giveUp')
  else if (stoppedBy === 'shutdown' && end.end === 'stopped') {
    await giveBack(held, options, 'release')
  }
}

async function complete(
  { run, leaseHash, signal }: LeasedRun,
  completion: Completion,
  { runs, scheduler, log, actor }: DoRunOptions,
): Promise<void> {
  for (;;) {
    try {
      await runs.complete({ ...completion, runId: run.id, leaseHash }, actor)
      return
    } catch (error) {
      if (refusalIn(error) !== null || signal.aborted) throw error
      log.warn({ err: error, run_id: run.id }, 'Could not store the result of a run; trying again')
      await delay(scheduler, retryMs, signal)
    }
  }
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
