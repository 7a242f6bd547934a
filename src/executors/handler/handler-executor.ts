/**
 * Executes runs by the function of their type. What the function returns is how the run ended; if
 * it throws, the run has failed.
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
import { failedBy, isA, warnOf } from '../../work/failed-by.ts'
import { runContext } from './run-context.ts'
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
  const steps = new StepRunner({ ...options, held })
  const { completion, hasThrown } = await completionOf(handler, held, steps, options)
  await steps.written()
  const { stoppedBy } = held
  // A handler that finished although this process stops has done its work.
  const isDone = stoppedBy === null || (stoppedBy === 'shutdown' && !hasThrown)
  if (!isDone) return { end: stoppedBy === 'held' ? 'held' : 'stopped' }
  return { end: 'completed', completion: withUnused(completion, steps, options.codeVersion) }
}

async function completionOf(
  handler: RunHandler,
  held: HeldRun,
  steps: StepRunner,
  options: HandlerOptions,
): Promise<{ readonly completion: Completion; readonly hasThrown: boolean }> {
  const { log } = options
  const { id: runId } = held.run
  try {
    const github = await openRunGitHub(held, options.github)
    const context = runContext({ held, steps, ports: options, github, log })
    const returned = (await asRun(held.run, () => handler(context))) as HandlerResult | undefined
    return { completion: checked(returned ?? {}), hasThrown: false }
  } catch (thrown) {
    if (!isA(thrown, StopWork)) warnOf(log, thrown, { run_id: runId }, 'A handler failed')
    return { completion: failedBy(thrown), hasThrown: true }
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
