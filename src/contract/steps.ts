/** Steps in the API: what a holder does with one, what a person decides, how one is shown. */
import { z } from 'zod'
import { stepNameForm, stepPolicies } from '../domain/step.ts'
import { fromQuery, id, jsonField, line, text, wholeNumber } from './fields.ts'
import { noForm, pickedBy } from './forms.ts'
import { holderFields, run, workError } from './runs.ts'
import { knownStep, stepError, stepFields } from './step-fields.ts'

export const stepParams = z.strictObject({
  id: id.describe('Id of the run.'),
  name: z
    .string()
    .regex(
      stepNameForm,
      'must be 1 to 100 letters, digits, underscores, dots, colons or hyphens, not only . or ..',
    )
    .describe(
      "The run's name for it, the same in every attempt: 1 to 100 of `A-Z a-z 0-9 _ . : -`.",
    ),
})

export const stepsQuery = z.strictObject({
  round: fromQuery(wholeNumber(1, 2_147_483_647))
    .optional()
    .describe('The steps of this round. Default: the current round.'),
})

const result = jsonField('. Store it elsewhere, and return a reference to it').describe(
  'Any JSON, at most 256 KB. A later attempt gets it instead of doing the step again.',
)

const starter = {
  ...holderFields,
  start_id: line(100).meta({
    examples: ['7f3c9a'],
    description:
      'Your name for this beginning, 1 to 100 characters: random, and the same in every repeat ' +
      'of the request and in the request with the result.',
  }),
}
const codeVersion = {
  code_version: line(100).optional().describe('The version of your code.'),
}
const beginning = {
  ...starter,
  ...codeVersion,
  in_doubt: z
    .enum(stepPolicies)
    .optional()
    .describe(
      'What happens if it was begun and has no result. `repeat` (default): do it again. ' +
        '`confirm`: look whether it was done. `hold`: a person decides.',
    ),
}

const begin = z
  .strictObject({ ...beginning, state: z.literal('started').describe('Begins the step.') })
  .register(z.globalRegistry, { id: 'StepBegin', title: 'Begin' })
const takeOver = z
  .strictObject({
    ...beginning,
    in_doubt: beginning.in_doubt.describe('The same; default: as it was begun before.'),
    take_over: z.literal(true).describe('Begins a step that is in doubt again.'),
  })
  .register(z.globalRegistry, { id: 'StepTakeOver', title: 'Do it again' })
const confirm = z
  .strictObject({
    ...starter,
    ...codeVersion,
    confirmed: z.literal(true).describe('You looked: a step that is in doubt was done.'),
    result,
  })
  .register(z.globalRegistry, { id: 'StepConfirm', title: 'It was done' })
const hold = z
  .strictObject({
    ...starter,
    held: z.literal(true).describe('Only a person can tell. The run waits, and your lease ends.'),
  })
  .register(z.globalRegistry, { id: 'StepHold', title: 'A person decides' })
const record = z
  .strictObject({ ...starter, result })
  .register(z.globalRegistry, { id: 'StepResult', title: 'Result' })
const fail = z
  .strictObject({
    ...starter,
    error: workError.describe('Why it failed. A plain text gets the code `failed`.'),
  })
  .register(z.globalRegistry, { id: 'StepError', title: 'Error' })

/** By the field that only this form has; `confirmed` before `result`, which it has too. */
const formOfField = {
  state: begin,
  take_over: takeOver,
  confirmed: confirm,
  held: hold,
  error: fail,
  result: record,
} as const
type FormField = keyof typeof formOfField

const others = Object.keys(formOfField).slice(1).join(', ')

export const stepBody = pickedBy(
  z.union([begin, takeOver, confirm, hold, record, fail]),
  (body) => {
    const fields = typeof body === 'object' && body !== null ? formFieldsOf(body) : []
    const [first, second] = fields
    if (first === undefined) {
      return noForm('state', `is required to begin the step; or send one of: ${others}`)
    }
    if (second === undefined) return formOfField[first]
    return noForm(second, `does not go with ${first}. Send them in requests of their own`)
  },
)

function formFieldsOf(body: object): readonly FormField[] {
  const all = Object.keys(formOfField) as FormField[]
  const given = all.filter((field) => Object.hasOwn(body, field))
  return given.includes('confirmed') ? given.filter((field) => field !== 'result') : given
}

export const stepAnswer = z
  .strictObject({
    ...knownStep.shape,
    round: stepFields.round,
    already: z.literal(true).optional().describe('It was so before; this changed nothing.'),
    result: z.unknown().optional().describe('If it is `done`: its result.'),
    error: stepError.optional().describe('If it `failed`: why.'),
  })
  .register(z.globalRegistry, { id: 'StepAnswer' })

export const step = z.strictObject(stepFields).register(z.globalRegistry, { id: 'Step' })

export const stepWithResult = z
  .strictObject({
    ...stepFields,
    result: z.unknown().describe('Its result; null without one.'),
  })
  .register(z.globalRegistry, { id: 'StepWithResult' })

export const stepList = z.strictObject({
  items: z
    .array(step)
    .describe('The first 1000, in the order in which they were begun, without results.'),
  next_cursor: z.null().describe('Always null: there is one page.'),
})

export const confirmStepBody = z
  .strictObject({ result: result.optional().describe('Its result: any JSON. Default: null.') })
  .optional()

export const failStepBody = z
  .strictObject({
    text: text(2000)
      .refine((value) => value.trim() !== '', 'must not be empty')
      .optional()
      .describe('Why, for people: at most 2000 characters.'),
  })
  .optional()

export const decidedStep = z
  .strictObject({
    step: step.describe('The step after the decision.'),
    run: run.describe('Its run, which waits for a worker again.'),
  })
  .register(z.globalRegistry, { id: 'DecidedStep' })

export type StepBody = z.infer<typeof stepBody>
export type StepAnswerView = z.infer<typeof stepAnswer>
export type StepView = z.infer<typeof step>
export type StepWithResultView = z.infer<typeof stepWithResult>
export type StepList = z.infer<typeof stepList>
export type StepsQuery = z.infer<typeof stepsQuery>
export type ConfirmStepBody = NonNullable<z.infer<typeof confirmStepBody>>
export type FailStepBody = NonNullable<z.infer<typeof failStepBody>>
export type DecidedStepView = z.infer<typeof decidedStep>
