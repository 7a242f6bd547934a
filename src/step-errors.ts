/** Errors of steps, for the handler that called `run.step`. */
import { HoldfastError } from './errors.ts'

/**
 * Throw it in a step's function to say that nothing was done. A step with `inDoubt: 'confirm'` or
 * `'hold'` is then not in doubt, and may be tried again.
 */
export class StepNotDone extends Error {
  override readonly name = 'StepNotDone'
}

/** The step failed for good in this round. A later attempt gets the same error. */
export class StepFailedError extends HoldfastError {
  readonly step: string

  constructor(step: string, code: string, text: string, cause?: unknown) {
    super(code, `the step ${JSON.stringify(step)} failed: ${text}`, { cause })
    this.step = step
  }
}

/**
 * The step was told to stop, and its function still runs. Whether it will be done is not known.
 */
export class StepTimeoutError extends HoldfastError {
  readonly step: string

  constructor(step: string, timeoutMs: number) {
    super(
      'step_timeout',
      `the step ${JSON.stringify(step)} was aborted after ${timeoutMs} ms and still runs, so it ` +
        'is in doubt',
      { hint: 'Pass the signal of the step on to what it calls.' },
    )
    this.step = step
  }
}

/** `run.step` was called in a way that is never right. */
export class StepUsageError extends HoldfastError {}

export function usedTwice(step: string): StepUsageError {
  return new StepUsageError(
    'step_name_used',
    `the step ${JSON.stringify(step)} was already used in this attempt`,
    { hint: 'Give every step a name of its own, for example with a number: "file-1", "file-2".' },
  )
}

export function nested(step: string, outer: string): StepUsageError {
  return new StepUsageError(
    'step_nested',
    `the step ${JSON.stringify(step)} was begun inside the step ${JSON.stringify(outer)}`,
    { hint: 'Begin it before or after that step: a step is done once as a whole.' },
  )
}

export function badOption(step: string, problem: string): StepUsageError {
  return new StepUsageError('step_option', `the step ${JSON.stringify(step)}: ${problem}`)
}
