/** Checks the arguments of the library's calls, with the same field schemas as the HTTP API. */
import { z } from 'zod'
import { githubChannels, publishForms } from '../channels/github-channels.ts'
import type { Output } from '../channels/own-output.ts'
import { lineComment } from '../channels/github-review.ts'
import { readPullRequestKey } from '../domain/pair.ts'
import { outcomes, verdicts } from '../domain/run.ts'
import { InvalidInputError } from '../errors.ts'
import { ownDeliveryParams, type OwnDeliveryBody } from '../contract/deliveries.ts'
import * as field from '../contract/fields.ts'
import { statusText } from '../contract/status-report.ts'
import { clauses } from '../texts/sentences.ts'
import { fieldsAt } from '../validation/fields-at.ts'
import { findingsOf } from '../validation/findings.ts'
import type { OutputKey } from './find-output.ts'

const claimSchema = z.strictObject({
  /** `owner/name`, in any case. */
  repo: field.repo,
  /** GitHub's numeric id of the repository, so that a renamed one is still the same. */
  repoId: field.positive.optional(),
  prNumber: field.positive,
  baseSha: field.sha,
  headSha: field.sha,
  /** GitHub's GUID of the webhook. The same GUID again is not a new event. */
  deliveryId: field.line(200).optional(),
  /** The event's action. If it is missing, the event counts as one that made this the head. */
  action: field.line(100).optional(),
  /** When it happened by GitHub's clock, to the second. If missing, the order of arrival counts. */
  eventAt: z
    .date({
      error: ({ input }) =>
        input instanceof Date
          ? 'must be a valid Date'
          : 'must be a Date object: new Date(pullRequest.updated_at)',
    })
    .optional(),
  /** The commit that the head replaced: `before` of a synchronize event. */
  beforeSha: field.sha.optional(),
  /** Default: `review`. */
  type: field.runType.default('review'),
  /** A person asked for a rerun. */
  rerun: z.boolean().optional(),
  input: field.anyJson.optional(),
  /** Default: the instance's. */
  leaseMs: field.leaseMs.optional(),
})

const completionSchema = z.strictObject({
  /** Default: `succeeded`. */
  outcome: z.enum(outcomes).default('succeeded'),
  verdict: z.enum(verdicts).optional(),
  summary: field.summary.optional(),
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

/** These are not checked here. `github` is checked when the connection is opened. */
const unchecked = z.unknown().optional()
const openOptionsSchema = gateOptionsSchema.extend({
  log: unchecked,
  github: unchecked,
  clock: unchecked,
  random: unchecked,
  scheduler: unchecked,
})

const typeSchema = z.strictObject({ type: field.runType.optional() })

const contentFields = Object.values(publishForms).flatMap(({ form }) => fieldsAt(form, []))
/** The schema of an output if its channel is invalid: every field of any channel is allowed. */
const outputSchema = z.strictObject({
  ...Object.fromEntries(contentFields.map((name) => [name, z.unknown().optional()])),
  channel: z.enum(githubChannels),
})
const outputNameSchema = ownDeliveryParams.pick({ name: true })

/** The schemas whose fields the guide of the library lists. */
export const callSchemas = {
  claim: claimSchema,
  gateOptions: gateOptionsSchema,
  completion: completionSchema,
} as const

export type RunClaim = z.input<typeof claimSchema>
export type Completion = z.input<typeof completionSchema>
export type CheckedClaim = z.output<typeof claimSchema>
export type CheckedCompletion = z.output<typeof completionSchema>

export type { Output } from '../channels/own-output.ts'

export const checkClaim = (claim: RunClaim): CheckedClaim =>
  check('checkAndClaimRun', claimSchema, claim)
/** `call` is the function that the caller called. The error names it. */
export const checkCompletion = (
  call: 'completeRun' | 'gate.complete' | 'the result of the handler',
  completion: Completion,
): CheckedCompletion => check(call, completionSchema, completion)

type OnStoreError = z.output<typeof gateOptionsSchema>

export const checkGateOptions = (options: unknown): OnStoreError =>
  check('checkAndClaimRun', gateOptionsSchema, options)
export const checkOpenOptions = (options: unknown): OnStoreError =>
  check('openHoldfast', openOptionsSchema, options)

/**
 * `output` is the claim itself, or the run key of its gate. A run key does not contain the type.
 */
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

/** By their name in the library: the fields that have another name in the HTTP API. */
const wireNames: ReadonlyMap<string, string> = new Map(
  [...contentFields, ...fieldsAt(lineComment, [])]
    .filter((name) => name.includes('_'))
    .map((name) => [camelName(name), name]),
)

export function camelName(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase())
}

/** Renames the fields of an output as in the HTTP API. Unknown fields keep their names. */
function withWireNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withWireNames)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  return Object.fromEntries(
    entries.map(([name, inner]) => [wireNames.get(name) ?? name, withWireNames(inner)]),
  )
}

/** Renames the fields in an error message as in the library. */
function withLibraryNames(text: string): string {
  return [...wireNames].reduce((changed, [given, wire]) => changed.replaceAll(wire, given), text)
}

export function checkOutput(
  call: 'gate.publish' | 'run.publish',
  name: string,
  output: Output,
): OwnDeliveryBody {
  check(call, outputNameSchema, { name })
  const named = (output as Output | undefined)?.channel ?? ''
  if (!Object.hasOwn(publishForms, named)) check(call, outputSchema, withWireNames(output))
  const { channel, ...given } = output
  const content = withWireNames(given) as object
  const checked = check(call, publishForms[channel].form, content, 'invalid_content')
  return { ...checked, channel } as OwnDeliveryBody
}

export function checkReport(
  call: 'reportRunStatus' | 'gate.report' | 'run.status',
  status: string,
  of: { readonly type?: string } = {},
): z.output<typeof reportSchema> {
  return check(call, reportSchema, { ...check(call, typeSchema, of), status })
}

/** Throws one error with all problems. Its `field` is the first invalid one. */
function check<T extends z.ZodType>(
  call: string,
  schema: T,
  value: unknown,
  code = 'invalid_value',
): z.output<T> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const found = findingsOf(schema, parsed.error.issues, value).map(({ path, message }) => ({
    field: withLibraryNames(path.map(String).join('.')) || 'the argument',
    message: withLibraryNames(message),
  }))
  const problems = clauses(found.map(({ field, message }) => `${field} ${message}`))
  throw new InvalidInputError(code, found[0]?.field ?? '', `${call}: ${problems}`)
}
