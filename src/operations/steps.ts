/** Operations on the steps of a run: what its holder does with one, and what a person decides. */
import { runView } from '../contract/run-view.ts'
import type { WorkError } from '../contract/runs.ts'
import { stepAnswerView, stepView, stepWithResultView } from '../contract/step-view.ts'
import type {
  ConfirmStepBody,
  DecidedStepView,
  FailStepBody,
  StepAnswerView,
  StepBody,
  StepList,
  StepsQuery,
  StepWithResultView,
} from '../contract/steps.ts'
import { hasOtherStart, type HeldDecision, type Step, type StepAction } from '../domain/step.ts'
import { ConflictError, stepNotFound } from '../errors.ts'
import { stepKey } from '../ids.ts'
import type { StepAnswer } from '../store.ts'
import { type Caller, heldLeaseHash } from './caller.ts'
import { type Mask, unchanged } from '../texts/run-secrets.ts'
import { type CallOptions, type WithId, operation } from './operation.ts'
import type { OperationPorts } from './ports.ts'

/** `id` is the run's. */
interface NamedStep extends WithId {
  readonly name: string
}

type Ports = Pick<OperationPorts, 'runs' | 'store' | 'runSecrets'>

/** The steps of a round, without results. */
export const listSteps = operation(
  { scopes: ['operator', 'worker', 'read', 'run'], within: 'run' },
  async (
    { runs, store }: Ports,
    _caller,
    { id, round }: WithId & StepsQuery,
  ): Promise<StepList> => {
    const { id: runId } = await runs.get(id)
    const steps = await store.steps.list(runId, round ?? null)
    return { items: steps.map(stepView), next_cursor: null }
  },
)

/** One step of the current round, with its result. */
export const getStep = operation(
  { scopes: ['operator', 'worker', 'read', 'run'], within: 'run' },
  async ({ runs, store }: Ports, _caller, { id, name }: NamedStep): Promise<StepWithResultView> => {
    const { id: runId } = await runs.get(id)
    const step = await store.steps.get(runId, name)
    if (step === null) throw stepNotFound(runId, name)
    return stepWithResultView(step)
  },
)

/** The holder begins a step, or says what became of it. */
export const actOnStep = operation(
  { scopes: ['worker', 'run'], within: 'run' },
  async (
    { runs, store, runSecrets }: Ports,
    caller,
    { id: runId, name, body }: NamedStep & { readonly body: StepBody },
  ): Promise<StepAnswerView> => {
    const leaseHash = heldLeaseHash(caller, body.lease_token)
    const begunBefore = 'take_over' in body ? await store.steps.get(runId, name) : null
    const action = actionOf(body, begunBefore, runSecrets?.maskOf(leaseHash) ?? unchanged)
    const codeVersion = ('code_version' in body ? body.code_version : undefined) ?? null
    const start = { name, startId: body.start_id, codeVersion }
    const { actor } = caller
    const answer = await runs.actOnStep({ ...start, runId, leaseHash, actor, action })
    return answerOf(answer, action, { name, startId: start.startId, leaseHash })
  },
)

/**
 * `begunBefore`: what a take-over begins again. Unless it says otherwise, the policy stays. An
 * error is for people, so secrets are hidden in it. A result is for the run, and stays as it is.
 */
function actionOf(body: StepBody, begunBefore: Step | null, mask: Mask): StepAction {
  if ('state' in body) return { do: 'begin', policy: body.in_doubt ?? 'repeat' }
  if ('take_over' in body) {
    return { do: 'take-over', policy: body.in_doubt ?? begunBefore?.policy ?? 'repeat' }
  }
  if ('held' in body) return { do: 'hold' }
  if ('error' in body) return { do: 'fail', ...errorOf(mask(body.error)) }
  const result = JSON.stringify(body.result)
  return 'confirmed' in body ? { do: 'confirm', result } : { do: 'record', result }
}

function errorOf(error: WorkError) {
  const { code, text } = typeof error === 'string' ? { code: 'failed', text: error } : error
  return { errorCode: code, errorText: text }
}

/** What its holder named. */
interface NamedStart {
  readonly name: string
  readonly startId: string
  readonly leaseHash: string
}

function answerOf(
  { reply, step }: StepAnswer,
  action: StepAction,
  start: NamedStart,
): StepAnswerView {
  if (step === null || reply === 'not-begun') throw notBegun(start.name)
  if (reply === 'in-doubt') throw inDoubt(step)
  if (reply === 'late') throw late(step, start)
  const already = reply === 'already' || (reply === 'known' && action.do === 'confirm')
  return stepAnswerView(step, already)
}

function notBegun(name: string): ConflictError {
  return new ConflictError('step_not_begun', `nobody began the step ${name} in this round`, {
    hint: 'Begin it first: send "state": "started" with the same start_id.',
  })
}

/** Only the present holder gets here: for others, the answer is how they lost the run. */
function late(step: Step, { startId, leaseHash }: NamedStart): ConflictError {
  const { name } = step
  if (hasOtherStart(step, { fence: null, leaseHash }, { startId })) {
    const message = `you began the step ${name} with another start_id; nothing was changed`
    return new ConflictError('step_late', message, {
      hint: 'Send the start_id with which you began it. GET shows what the step is now.',
    })
  }
  if (step.state === 'open') {
    const message = `a person decided that the step ${name} is done again; nothing was changed`
    return new ConflictError('step_late', message, {
      hint: 'Begin it first: send "state": "started".',
    })
  }
  const message = `another worker began the step ${name}, not you; nothing was changed`
  return new ConflictError('step_late', message, {
    hint: 'Read what it is now with GET, and go on with that.',
  })
}

function inDoubt(step: Step): ConflictError {
  const { name, attempt } = step
  const message = `the step ${name} was begun before, and no result came: it may have been done`
  return new ConflictError('step_in_doubt', message, {
    hint:
      'Send "take_over": true to do it again with the same key, "confirmed": true with its ' +
      'result if it was done, or "held": true if a person has to decide.',
    members: { key: stepKey(step), attempt },
  })
}

/** A person says that a held step was done. */
export const confirmStep = operation(
  { scopes: ['operator'], within: 'run' },
  (ports: Ports, caller, { result = null, ...step }: NamedStep & ConfirmStepBody, options) =>
    decide(ports, caller, step, { do: 'confirm', result: JSON.stringify(result) }, options),
)

/** A person says that a held step was not done: the run does it again. */
export const repeatStep = operation(
  { scopes: ['operator'], within: 'run' },
  (ports: Ports, caller, step: NamedStep, options) =>
    decide(ports, caller, step, { do: 'repeat' }, options),
)

/** A person lets a held step fail: the run goes on with this error. */
export const failStep = operation(
  { scopes: ['operator'], within: 'run' },
  (ports: Ports, caller, { text, ...step }: NamedStep & FailStepBody, options) =>
    decide(ports, caller, step, { do: 'fail', text: text?.trim() ?? null }, options),
)

async function decide(
  { runs, store }: Ports,
  { actor }: Caller,
  { id: runId, name }: NamedStep,
  decision: HeldDecision,
  { once }: CallOptions,
): Promise<DecidedStepView> {
  const decided = await runs.decideStep({ runId, name, actor, decision }, once)
  return { step: stepView(decided.step), run: await runView(store, decided.run) }
}
