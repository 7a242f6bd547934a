/** What callers of the library say, checked by the same fields as every other door. */
import { z } from 'zod'
import { givenContents, lineComment } from '../channels/contents.ts'
import { githubChannels, type ChannelName } from '../channels/github-channels.ts'
import { readPullRequestKey } from '../domain/pair.ts'
import { outcomes, verdicts } from '../domain/run.ts'
import { InvalidInputError } from '../errors.ts'
import { ownDeliveryParams, type OwnDeliveryBody } from '../contract/deliveries.ts'
import * as field from '../contract/fields.ts'
import { statusText } from '../contract/status-report.ts'
import { clauses } from '../sentences.ts'
import { fieldsAt } from '../validation/fields-at.ts'
import { findingsOf } from '../validation/findings.ts'
import type { OutputKey } from './find-output.ts'

const claimSchema = z.strictObject({
  /** `owner/name`, in any case. */
  repo: field.repo,
  /** GitHub's numeric id of the repository: with it a renamed one stays the same. */
  repoId: field.positive.optional(),
  prNumber: field.positive,
  baseSha: field.sha,
  headSha: field.sha,
  /** GitHub's delivery GUID: an event that was decided on before is no new event. */
  deliveryId: field.line(200).optional(),
  /** The event's action; left out it counts as one that made this head the head. */
  action: field.line(100).optional(),
  /** When GitHub says it happened, to the second. Without it arrival order holds. */
  eventAt: z.date().optional(),
  /** What the head replaced: `before` of a synchronize event. */
  beforeSha: field.sha.optional(),
  /** Default: `review`. */
  type: field.runType.default('review'),
  /** A person asked for it to be done again. */
  rerun: z.boolean().optional(),
  input: field.anyJson.optional(),
  /** Default: the instance's. */
  leaseMs: field.leaseMs.optional(),
})

const completionSchema = z.strictObject({
  /** Default: `succeeded`. */
  outcome: z.enum(outcomes).default('succeeded'),
  verdict: z.enum(verdicts).optional(),
  summary: field.text(200_000).optional(),
  description: field.text(2000).optional(),
  targetUrl: field.httpUrl.optional(),
  result: field.anyJson.optional(),
  error: z.strictObject({ code: field.errorCode, text: field.text(20_000) }).optional(),
  /** Default: the type that was claimed. */
  type: field.runType.optional(),
})

const reportSchema = z.strictObject({
  status: statusText,
  /** Default: the type that was claimed. */
  type: field.runType.optional(),
})

const gateOptionsSchema = z.strictObject({ onStoreError: z.enum(['open', 'closed']).optional() })

const seam = z.unknown().optional()
/** `github` is checked where it is opened, without its values. */
const openOptionsSchema = gateOptionsSchema.extend({
  log: seam,
  github: seam,
  clock: seam,
  random: seam,
  scheduler: seam,
})

const typeSchema = z.strictObject({ type: field.runType.optional() })

const contentFields = Object.values(givenContents).flatMap((form) => fieldsAt(form, []))
/** What can be said of an output while its channel, and so its form, is not known. */
const outputSchema = z.strictObject({
  ...Object.fromEntries(contentFields.map((name) => [name, z.unknown().optional()])),
  channel: z.enum(githubChannels),
})
const outputNameSchema = ownDeliveryParams.pick({ name: true })

/** What the guide of the library lists, field by field. */
export const callSchemas = {
  claim: claimSchema,
  gateOptions: gateOptionsSchema,
  completion: completionSchema,
} as const

export type RunClaim = z.input<typeof claimSchema>
export type Completion = z.input<typeof completionSchema>
export type CheckedClaim = z.output<typeof claimSchema>
export type CheckedCompletion = z.output<typeof completionSchema>

export const checkClaim = (claim: RunClaim): CheckedClaim =>
  check('checkAndClaimRun', claimSchema, claim)
/** `call`: what the caller called, which the refusal names. */
export const checkCompletion = (
  call: 'completeRun' | 'gate.complete',
  completion: Completion,
): CheckedCompletion => check(call, completionSchema, completion)

type OnStoreError = z.output<typeof gateOptionsSchema>

export const checkGateOptions = (options: unknown): OnStoreError =>
  check('checkAndClaimRun', gateOptionsSchema, options)
export const checkOpenOptions = (options: unknown): OnStoreError =>
  check('openHoldfast', openOptionsSchema, options)

/** The claim that was made, or the run key of its gate, which does not say the type. */
export function checkOutputKey(
  output: RunClaim | string,
  of: { readonly type?: string },
): OutputKey {
  const call = 'ensureNotPublished'
  const { type } = check(call, typeSchema, of)
  if (typeof output !== 'string') {
    return check(call, claimSchema, { ...output, ...(type !== undefined && { type }) })
  }
  const read = readPullRequestKey(output)
  if (read !== null) return check(call, claimSchema, { ...read, type })
  const message = `${call}: runKey is not the key of a pull request's run`
  const hint = 'Pass runKey of the gate, or { repo, prNumber, baseSha, headSha }.'
  throw new InvalidInputError('invalid_value', 'runKey', message, { hint })
}

/** What a run publishes of its own, by channel: the fields of the HTTP API, in camelCase. */
export type Output = {
  readonly [C in ChannelName]: { readonly channel: C } & CamelCase<
    z.input<(typeof givenContents)[C]>
  >
}[ChannelName]

type CamelName<K> = K extends `${infer First}_${infer More}`
  ? `${First}${Capitalize<CamelName<More>>}`
  : K

type CamelCase<T> = T extends readonly (infer Item)[]
  ? readonly CamelCase<Item>[]
  : T extends object
    ? { readonly [K in keyof T as CamelName<K>]: CamelCase<T[K]> }
    : T

/** The fields that the wire spells otherwise, by their name here. */
const wireNames: ReadonlyMap<string, string> = new Map(
  [...contentFields, ...fieldsAt(lineComment, [])]
    .filter((name) => name.includes('_'))
    .map((name) => [camelName(name), name]),
)

export function camelName(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase())
}

/** Content in the spelling of the wire. What is no field of any channel stays as it was given. */
function asOnTheWire(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asOnTheWire)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  return Object.fromEntries(
    entries.map(([name, inner]) => [wireNames.get(name) ?? name, asOnTheWire(inner)]),
  )
}

/** A refusal in the spelling of the caller. */
function asGiven(text: string): string {
  return [...wireNames].reduce((told, [given, wire]) => told.replaceAll(wire, given), text)
}

export function checkOutput(name: string, output: Output): OwnDeliveryBody {
  const call = 'gate.publish'
  check(call, outputNameSchema, { name })
  const named = (output as Output | undefined)?.channel ?? ''
  if (!Object.hasOwn(givenContents, named)) check(call, outputSchema, asOnTheWire(output))
  const { channel, ...given } = output
  const content = asOnTheWire(given) as object
  const checked = check(call, givenContents[channel], content, 'invalid_content')
  return { ...checked, channel } as OwnDeliveryBody
}

export function checkReport(
  call: 'reportRunStatus' | 'gate.report',
  status: string,
  of: { readonly type?: string } = {},
): z.output<typeof reportSchema> {
  return check(call, reportSchema, { ...check(call, typeSchema, of), status })
}

/** All that is wrong at once, so that a caller fixes it in one go; `field` is the first. */
function check<T extends z.ZodType>(
  call: string,
  schema: T,
  value: unknown,
  code = 'invalid_value',
): z.output<T> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const found = findingsOf(schema, parsed.error.issues, value).map(({ path, message }) => ({
    field: asGiven(path.map(String).join('.')) || 'the argument',
    message: asGiven(message),
  }))
  const told = clauses(found.map(({ field, message }) => `${field} ${message}`))
  throw new InvalidInputError(code, found[0]?.field ?? '', `${call}: ${told}`)
}
