/**
 * Executes runs by the function of their type. What the function returns is how the run ended; if
 * it throws, the run has failed.
 *
 *   returned or threw, signal not aborted   counts, also if this process is told to stop after it
 *   returned or threw after the abort       does not count: it may have ended because of the abort
 *
 * At its end its signal aborts, so that nothing more begins. Steps that it did not wait for may
 * still be in their functions (`Promise.all` leaves the others when one throws).
 *
 *   counts           they have 5 s to stop. Then the run is completed, and those that go on are
 *                    stuck
 *   does not count   they are waited for. If they take more than 5 s, the work loop gives up the
 *                    wait, and the run is not given back before its lease ends
 *
 * So no function of a step begins after its run has ended, and whoever does the run next does not
 * work beside it, unless a function ignores its signal for 5 s. If the process dies during that
 * wait, the run is taken up again: its steps are in doubt or stored.
 */
import { asRun } from '../../current-run.ts'
import type { Completion } from '../../domain/completion.ts'
import { InvalidInputError } from '../../errors.ts'
import { StopWork, type Executor, type HeldRun, type WorkEnd } from '../../executor.ts'
import { checkCompletion } from '../../library/requests.ts'
import type { Log } from '../../log.ts'
import type { OperationPorts } from '../../operations/ports.ts'
import type { Random } from '../../random.ts'
import type { HandlerResult, RunHandler } from '../../run-handler.ts'
import type { Scheduler } from '../../scheduler.ts'
import type { StorePart } from '../../store.ts'
import { isA } from '../../texts/thrown-value.ts'
import { failedBy, warnOf } from '../../work/failed-by.ts'
import { runContext } from './run-context.ts'
import { HandledRun } from './handled-run.ts'
import { openRunGitHub, type RunGitHubOptions } from './run-github.ts'
import { StepRunner } from './step-runner.ts'

/** How long a function may go on after its signal aborted. */
const stopMsMax = 5000

export interface HandlerOptions {
  readonly store: OperationPorts['store'] & StorePart<{ steps: 'act' }>
  readonly publishRights: OperationPorts['publishRights']
  readonly random: Random
  readonly scheduler: Scheduler
  readonly log: Log
  readonly confirmDelayMs: number
  /** Null if this process does not reach GitHub. */
  readonly github: RunGitHubOptions | null
  /** Null if it is not known. */
  readonly codeVersion: string | null
}

export function handlerExecutor(handler: RunHandler, options: HandlerOptions): Executor {
  return { stopMsMax, execute: (held) => execute(handler, held, options) }
}

async function execute(
  handler: RunHandler,
  held: HeldRun,
  options: HandlerOptions,
): Promise<WorkEnd> {
  const run = new HandledRun(held)
  const steps = new StepRunner({ ...options, run })
  const completion = await completionOf(handler, run, steps, options)
  const counts = held.stoppedBy === null
  run.end()
  const goesOn = counts && !(await steps.stopWithin(stopMsMax))
  if (!counts) await steps.allStopped()
  await run.written()
  const { stoppedBy } = held
  if (!counts || (stoppedBy !== null && stoppedBy !== 'shutdown')) {
    steps.sendResults()
    await run.written()
    return { end: stoppedBy === 'held' ? 'held' : 'stopped' }
  }
  const stepResults = steps.takeResults()
  return {
    end: 'completed',
    completion: { ...withUnused(completion, steps, options.codeVersion), stepResults },
    stillRunning: goesOn ? steps.allStopped() : null,
  }
}

async function completionOf(
  handler: RunHandler,
  run: HandledRun,
  steps: StepRunner,
  options: HandlerOptions,
): Promise<Completion> {
  const { log } = options
  const { run: about } = run.held
  try {
    const github = await openRunGitHub(run, options.github)
    const context = runContext({ run, steps, ports: options, github, log })
    const returned = (await asRun(about, () => handler(context))) as HandlerResult | undefined
    return checked(returned ?? {})
  } catch (thrown) {
    // After the abort an error is the usual way to stop, and does not count.
    const isStopped = isA(thrown, StopWork) || run.signal.aborted
    if (!isStopped) warnOf(log, thrown, { run_id: about.id }, 'A handler failed')
    return failedBy(thrown)
  }
}

function checked(result: HandlerResult): Completion {
  try {
    const { type: _type, ...completion } = checkCompletion('the result of the handler', result)
    return completion
  } catch (error) {
    if (!(error instanceof InvalidInputError)) throw error
    return { outcome: 'failed', error: { code: 'bad_result', text: error.message } }
  }
}

function withUnused(
  completion: Completion,
  steps: StepRunner,
  codeVersion: string | null,
): Completion {
  const unused = steps.notAskedFor()
  if (unused.length === 0) return completion
  const named = unused.map(({ name, codeVersion: recordedWith }) => ({
    name,
    codeVersion: recordedWith,
  }))
  return { ...completion, stepsNotAskedFor: { steps: named, codeVersion } }
}
