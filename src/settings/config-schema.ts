/**
 * The rules `holdfast.config.ts` is checked by; src/config.ts is the same shape in words. Messages
 * are what is wrong with the value, to be read after its path: "runs.review.onNewer must be …".
 */
import { z } from 'zod'
import type { Config, When } from '../config.ts'
import { githubChannels } from '../domain/outbox/delivery.ts'
import { roles } from '../domain/role.ts'
import { onNewerChoices } from '../domain/run.ts'
import { didYouMean } from '../validation/nearest.ts'
import { closedObject } from './closed-object.ts'
import { eventFilter } from './event-filter.ts'
import { channelsToCome, notAvailable } from './not-available.ts'
import { hasFile, type Option } from './option.ts'
import { optionEntries, timerMsMax } from './options.ts'

const wholeNumber = (min: number, max: number) => {
  const message = `must be a whole number from ${min} to ${max}`
  return z.number(message).int(message).min(min, message).max(max, message)
}
const text = z.string('must be a text').regex(/^[^\p{Cc}]{1,200}$/u, 'must be a text of one line')
const oneOf = <const T extends string>(values: readonly [T, ...T[]]) =>
  z.enum(values, {
    error: ({ input }) => {
      const meant = typeof input === 'string' ? didYouMean(input, values) : ''
      const allowed = `must be one of ${values.join(', ')}`
      return meant === '' ? allowed : `${allowed}. ${meant}`
    },
  })
const list = <T extends z.ZodType>(item: T) => z.array(item, 'must be a list')
const callback = <T>() => z.custom<T>((value) => typeof value === 'function', 'must be a function')
const yesOrNo = z.boolean('must be true or false')

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
}
const runType = closedObject(runTypeShape, notAvailable)

/** Not a record of zod: there a wrong name hides what is wrong with the type. */
const runTypes = z.unknown().transform((value, context) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    context.addIssue('must be an object')
    return z.NEVER
  }
  const types = Object.entries(value).map(([name, given]) => {
    if (!typeName.test(name)) {
      context.addIssue({ code: 'custom', path: [name], message: wrongTypeName })
    }
    const parsed = runType.safeParse(given)
    if (!parsed.success) handOn(parsed.error.issues, context, [name])
    return [name, parsed.data] as const
  })
  return Object.fromEntries(types)
})

const days = (min: number) => wholeNumber(min, 36_500).optional()
const retention = closedObject({
  finishedDays: days(1),
  supersededDays: days(1),
  // For three days a delivery can be sent again by hand; forgotten, it would be a new event.
  inboxDays: days(4),
  auditDays: days(1),
})

const retry = closedObject({
  maxRetries: wholeNumber(0, 1000).optional(),
  initialMs: wholeNumber(1, timerMsMax).optional(),
  factor: z
    .number('must be a number from 1 to 10')
    .min(1, 'must be a number from 1 to 10')
    .max(10, 'must be a number from 1 to 10')
    .optional(),
  maxMs: wholeNumber(1, timerMsMax).optional(),
})

const channel = closedObject({ retry: retry.optional() }, notAvailable)

/** `elsewhere` says where a setting belongs that is not allowed here; null when it is. */
function schemaWith(elsewhere: (key: string, entry: Option) => string | null): z.ZodType<Config> {
  const plainSettings: Record<string, z.ZodType> = {}
  const otherKeys = new Map<string, string>(notAvailable)
  for (const [key, entry] of optionEntries) {
    const place = elsewhere(key, entry)
    if (place !== null) otherKeys.set(key, `sets ${key}, ${place}`)
    // Checked with the other sources of the setting, so that the message is the same everywhere.
    else plainSettings[key] = z.unknown().optional()
  }
  const shape = {
    ...plainSettings,
    runs: runTypes.optional(),
    channels: closedObject(
      Object.fromEntries(githubChannels.map((name) => [name, channel.optional()])),
      channelsToCome,
    ).optional(),
    retention: retention.optional(),
  }
  return closedObject(shape, otherKeys) as z.ZodType as z.ZodType<Config>
}

/** Of the config file. */
export const configSchema = schemaWith((_key, entry) => {
  if (entry.secret !== 'whole') return null
  const file = hasFile(entry) ? ` or ${entry.env}_FILE` : ''
  return `a secret. Set it in the environment instead: ${entry.env}${file}`
})

const credentials = new Set(['githubToken', 'githubAppId', 'githubPrivateKey'])

/** Of a program that embeds us: it reads no environment, and is given credentials by themselves. */
export const argumentSchema = schemaWith((key, entry) => {
  if (credentials.has(key)) return 'which belongs in openHoldfast(config, { github })'
  return entry.secret === 'whole' ? 'which only a server needs. Remove it' : null
})

/** Like a union, but the error is that of the one form the value tried to have. */
function pickSchema<T extends z.ZodType>(pick: (value: unknown) => T) {
  return z.unknown().transform((value, context): z.output<T> => {
    const parsed = pick(value).safeParse(value)
    if (parsed.success) return parsed.data
    handOn(parsed.error.issues, context, [])
    return z.NEVER
  })
}

/** What is wrong below a place, in the words used there. */
function handOn(
  issues: readonly z.core.$ZodIssue[],
  context: z.core.$RefinementCtx,
  place: readonly PropertyKey[],
): void {
  for (const issue of issues) {
    const path = [...place, ...issue.path]
    context.issues.push({ ...issue, path, input: undefined })
  }
}
