/** The rules for `runs` of a config file. */
import { z } from 'zod'
import type { When } from '../../config.ts'
import { githubChannels } from '../../channels/github-channels.ts'
import { roles } from '../../domain/role.ts'
import { onNewerChoices } from '../../domain/run.ts'
import { closedObject } from './fields.ts'
import { eventFilter } from './event-filter.ts'
import { githubPermissions } from './github-permissions.ts'
import { notAvailable } from './not-available.ts'
import { timerMsMax } from '../options/option.ts'
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

const execution = z.literal('remote', {
  error: ({ input }) =>
    typeof input === 'function' || typeof input === 'object'
      ? "must be 'remote': this version does not execute runs itself. Workers lease them over HTTP"
      : "must be 'remote'",
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
  onNewer: oneOf(onNewerChoices).optional(),
  anchor: pickSchema((value) =>
    typeof value === 'object' ? anchorPer : z.literal(false, 'must be { per: ... } or false'),
  ).optional(),
  status: pickSchema((value) =>
    typeof value === 'object' ? statusForm : z.literal(false, 'must be { context: ... } or false'),
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
