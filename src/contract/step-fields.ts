/** What a step is, on the wire: the fields that every answer about one has. */
import { z } from 'zod'
import { stepPolicies, stepStates } from '../domain/step.ts'
import { time } from './answers.ts'

const stepName = z.string().describe('What the run calls it.')
const stepState = z
  .enum(stepStates)
  .describe(
    '`started`: begun, without a result. `done`, `failed`: it has ended. `held`: a person has to ' +
      'decide. `open`: a person decided that it is to be repeated.',
  )
const stepKeyField = z
  .string()
  .describe(
    'The same in every attempt of the round. Give it to other systems, so that they recognise ' +
      'a repeat.',
  )
const stepAttempt = z.int().describe('How often it was begun.')

/** One of the steps that a new holder finds. */
export const knownStep = z.strictObject({
  name: stepName,
  state: stepState,
  key: stepKeyField,
  attempt: stepAttempt,
})

export const stepError = z.strictObject({
  code: z.string().describe('For programs.'),
  text: z.string().nullable().describe('For people.'),
})

export const stepFields = {
  ...knownStep.shape,
  run_id: z.string().describe('Id of its run.'),
  round: z.int().describe('The round of the run.'),
  in_doubt: z.enum(stepPolicies).describe('What happens if it was begun and has no result.'),
  fence: z.int().describe("The run's fence when it was begun last: it names the holder."),
  started_at: time.describe('When it was begun last.'),
  ended_at: time.nullable().describe('When its result or error was stored.'),
  error: stepError.nullable().describe('Why it failed.'),
  code_version: z.string().nullable().describe('The version of the code that began it.'),
}
