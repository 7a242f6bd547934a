/** Checks the arguments of `run.step`, so that a misspelt option is not ignored. */
import { stepNameForm, stepPolicies, type StepPolicy } from '../../domain/step.ts'
import type { StepOptions } from '../../run-handler.ts'
import { didYouMeanOrAll } from '../../validation/nearest.ts'
import { badOption, StepUsageError } from '../../step-errors.ts'

const known = ['inDoubt', 'confirm', 'retries', 'timeoutMs'] as const
const retriesMax = 100
const timeoutMsMax = 2_147_483_647

export function checkStepName(name: unknown): void {
  if (typeof name === 'string' && stepNameForm.test(name)) return
  throw new StepUsageError('step_name', `a step cannot have the name ${JSON.stringify(name)}`, {
    hint: 'Use 1 to 100 letters, digits, underscores, dots, colons or hyphens.',
  })
}

/** Returns the policy. */
export function checkStepOptions<T>(
  name: string,
  options: StepOptions<T>,
  work: unknown,
): StepPolicy {
  if (typeof work !== 'function') {
    const order = 'The order is run.step(name, options, function); options may be left out'
    throw badOption(name, `the last argument must be a function. ${order}`)
  }
  if (typeof options !== 'object' || (options as unknown) === null) {
    throw badOption(name, 'its options must be an object')
  }
  for (const key of Object.keys(options)) {
    if (!known.some((one) => one === key)) {
      const meant = didYouMeanOrAll(key, known, 'Known options')
      throw badOption(name, `there is no option ${JSON.stringify(key)}. ${meant}`)
    }
  }
  const { inDoubt = 'repeat', confirm, retries, timeoutMs } = options
  if (!stepPolicies.includes(inDoubt)) {
    throw badOption(name, `inDoubt must be one of ${stepPolicies.join(', ')}`)
  }
  if ((typeof confirm === 'function') !== (inDoubt === 'confirm')) {
    throw badOption(name, "inDoubt: 'confirm' needs a function confirm, and only that has one")
  }
  checkNumber(name, 'retries', retries, 0, retriesMax)
  checkNumber(name, 'timeoutMs', timeoutMs, 1, timeoutMsMax)
  return inDoubt
}

function checkNumber(
  step: string,
  option: string,
  value: number | undefined,
  min: number,
  max: number,
): void {
  if (value === undefined || (Number.isInteger(value) && value >= min && value <= max)) return
  throw badOption(step, `${option} must be a whole number from ${min} to ${max}`)
}
