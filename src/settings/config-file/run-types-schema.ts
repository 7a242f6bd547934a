/** The rules for `runs` of a config file. */
import { z } from 'zod'
import type { When } from '../../config.ts'
import type { RunHandler } from '../../run-handler.ts'
import { githubChannels } from '../../channels/github-channels.ts'
import { roles } from '../../domain/role.ts'
import { onNewerChoices } from '../../domain/run.ts'
import { closedObject } from './fields.ts'
import { eventFilter } from './event-filter.ts'
import { githubPermissions } from './github-permissions.ts'
import { notAvailable } from './not-available.ts'
import { timerMsMax } from '../options/option.ts'
import { didYouMeanValue } from '../../validation/nearest.ts'
import {
  callback,
  addIssues,
  list,
  oneOf,
  pickSchema,
  text,
  wholeNumber,
  yesOrNo,
} from './fields.ts'

const typeName = /^[a-z][a-z0-9._-]{0,63}$/
const wrongTypeName =
  'is not a valid name for a run type. Use a lower-case letter, then up to 63 of a-z, 0-9, dot, ' +
  'underscore or hyphen'

const word = z
  .string('must be a text')
  .min(1, 'must not be empty')
  .refine((value) => !value.includes('\0'), 'must be without NUL characters')

const variable = z
  .string('must be the name of an environment variable')
  .regex(/^[A-Za-z_][A-Za-z0-9_]{0,199}$/, 'must be the name of an environment variable')
  .refine(
    (name) => !name.startsWith('HOLDFAST_'),
    'is a variable of Holdfast itself: the command gets those that it needs, and no others',
  )

const command = closedObject({
  command: z
    .array(word, "must be a list, such as ['node', 'build.mjs']: there is no shell")
    .min(1, 'must name a program'),
  env: list(variable).optional(),
})

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const meansCommand = (key: string): boolean =>
  key === 'command' || didYouMeanValue(key, ['command']) !== ''

const execution = pickSchema((value) => {
  if (typeof value === 'function') return z.custom<RunHandler>()
  return isObject(value) && Object.keys(value).some(meansCommand)
    ? command
    : z.literal('remote', "must be a function, { command: [...] } or 'remote'")
})

const trigger = {
  on: eventFilter.optional(),
  rerunOn: eventFilter.optional(),
  when: callback<When>().optional(),
  by: oneOf(roles).optional(),
  own: yesOrNo.optional(),
}
const limits = {
  timeoutMs: wholeNumber(1000, timerMsMax).optional(),
  pendingTimeoutMs: wholeNumber(1000, timerMsMax).optional(),
  attempts: wholeNumber(1, 1000).optional(),
}

const statusForm = closedObject({ context: text.optional(), check: yesOrNo.optional() })
const anchorPer = closedObject({ per: oneOf(['subject', 'run']) })
const publish = closedObject({
  channels: list(oneOf(githubChannels)).optional(),
  contexts: list(text).optional(),
  labels: list(text).optional(),
  approve: yesOrNo.optional(),
})
const permissions = closedObject(
  Object.fromEntries(
    Object.entries(githubPermissions).map(([name, levels]) => [name, oneOf(levels).optional()]),
  ),
)
const runTypeShape = {
  ...trigger,
  ...limits,
  run: execution.optional(),
  concurrency: wholeNumber(1, 1000).optional(),
  onNewer: oneOf(onNewerChoices).optional(),
  anchor: pickSchema((value) =>
    isObject(value) ? anchorPer : z.literal(false, 'must be { per: ... } or false'),
  ).optional(),
  status: pickSchema((value) =>
    isObject(value) ? statusForm : z.literal(false, 'must be { context: ... } or false'),
  ).optional(),
  publish: publish.optional(),
  permissions: permissions.optional(),
}
const runType = closedObject(runTypeShape, notAvailable)

/** Not zod's record, because there a wrong name hides the problems of the type itself. */
export const runTypes = z.unknown().transform((value, context) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    context.addIssue('must be an object')
    return z.NEVER
  }
  const types = Object.entries(value).map(([name, given]) => {
    if (!typeName.test(name)) {
      context.addIssue({ code: 'custom', path: [name], message: wrongTypeName })
    }
    const parsed = runType.safeParse(given)
    if (!parsed.success) addIssues(parsed.error.issues, context, [name])
    return [name, parsed.data] as const
  })
  return Object.fromEntries(types)
})
