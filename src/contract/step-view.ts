/** Steps, as the API shows them. */
import type { Step } from '../domain/step.ts'
import { stepKey } from '../ids.ts'
import type { StepAnswerView, StepView, StepWithResultView } from './steps.ts'
import { parseStored, shownStored } from '../stored-json.ts'
import { maybeTime, timeView } from './answers.ts'

export function knownStepView(step: Step) {
  const { name, state, attempt } = step
  return { name, state, key: stepKey(step), attempt }
}

export function stepView(step: Step): StepView {
  return {
    ...knownStepView(step),
    run_id: step.runId,
    round: step.round,
    in_doubt: step.policy,
    fence: step.fence,
    started_at: timeView(step.startedAt),
    ended_at: maybeTime(step.endedAt),
    error: errorOf(step),
    code_version: step.codeVersion,
  }
}

export function stepWithResultView(step: Step): StepWithResultView {
  return { ...stepView(step), result: shownStored(() => resultOf(step)) }
}

/** For a holder. `already`: what it sent changed nothing. */
export function stepAnswerView(step: Step, already: boolean): StepAnswerView {
  const error = errorOf(step)
  return {
    ...knownStepView(step),
    round: step.round,
    ...(already && { already }),
    ...(step.state === 'done' && { result: resultOf(step) }),
    ...(error !== null && { error }),
  }
}

const resultOf = ({ name, result }: Step): unknown =>
  result === null ? null : parseStored(result, `result of the step ${name}`)

const errorOf = ({ errorCode: code, errorText: text }: Step): StepView['error'] =>
  code === null ? null : { code, text }
