/**
 * The kinds of field that requests are made of: the form and size of each, and the message for a
 * value that does not fit.
 *
 * What must hold: no text may contain a NUL or a lone surrogate, and no name or key may contain a
 * control character. Every value has a largest size.
 */
import { z } from 'zod'
import { summaryBytesMax } from '../domain/completion.ts'
import { httpUrl, line, text, textInBytes } from '../validation/text-fields.ts'

export { httpUrl, line, text }

const idForm = /^[A-Za-z0-9_-]{1,100}$/
const jsonBytesMax = 256 * 1024

export const id = z
  .string()
  .regex(idForm, 'must be 1 to 100 letters, digits, underscores or hyphens')
  .describe('1 to 100 letters, digits, underscores or hyphens.')

export const repo = z
  .string()
  .max(200, 'must be at most 200 characters')
  .regex(
    /^[A-Za-z0-9_-]{1,100}\/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}$/,
    "must be owner/name in GitHub's characters, such as acme/widgets",
  )
  .toLowerCase()
  .meta({
    examples: ['acme/widgets'],
    description: 'The repository as `owner/name`, in any case.',
  })

export const sha = z
  .string()
  .regex(/^(?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64})$/, 'must be a full sha: 40 or 64 hex digits')
  .toLowerCase()
  .meta({
    examples: ['9c1185a5c5e9fc54612808977ee8f548b2258d31'],
    description: 'A full commit sha: 40 or 64 hex digits.',
  })

export const runType = z
  .string()
  .regex(
    /^[a-z][a-z0-9._-]{0,63}$/,
    'must be a lower-case letter, then up to 63 of a-z, 0-9, dot, underscore or hyphen',
  )
  .meta({
    examples: ['review'],
    description: 'The type of run: a lower-case letter, then up to 63 of `a-z 0-9 . _ -`.',
  })

/** A summary of a run is also read from a file, whose size is in bytes. */
export const summary = textInBytes(summaryBytesMax, '256 KB').describe(
  'Markdown for people, at most 256 KB as UTF-8.',
)

export const errorCode = z
  .string()
  .regex(/^[a-z0-9_.-]{1,64}$/, 'must be 1 to 64 of a-z, 0-9, dot, underscore or hyphen')
  .describe('For programs: 1 to 64 of `a-z 0-9 . _ -`.')

export function wholeNumber(min: number, max: number) {
  const message = `must be a whole number from ${min} to ${max}`
  return z.int(message).min(min, message).max(max, message)
}

/** Numbers that GitHub or a user gives out: of pull requests, issues, repositories, people. */
const positiveOnly = 'must be a positive whole number'
export const positive = z.int(positiveOnly).min(1, positiveOnly)

export const leaseMs = wholeNumber(1000, 3_600_000).describe(
  "Length of the lease in milliseconds. Default: the server's setting.",
)
export const waitMs = wholeNumber(0, 60_000).describe(
  'How long the server may wait before it answers, in milliseconds. 0 answers at once.',
)
export const leaseToken = line(300).meta({ examples: ['hfl_…'] })

const instantForm = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i
const calendar = z.iso.datetime({ offset: true })

/** RFC 3339 with a zone, as milliseconds. The calendar is checked: 30 February is refused. */
export const instant = z
  .string()
  .max(40, 'must be at most 40 characters')
  .refine(isInstant, 'must be an RFC 3339 time with a zone, such as 2026-01-31T12:00:00Z')
  .meta({ format: 'date-time', examples: ['2026-01-31T12:00:00.000Z'] })
  .transform((value) => Date.parse(value))

function isInstant(value: string): boolean {
  if (!instantForm.test(value) || !calendar.safeParse(value.toUpperCase()).success) return false
  return Date.parse(value) >= 0
}

/** Any JSON value, bounded by its size as text. `remedy`: what to do with a larger one. */
export const jsonField = (remedy = '') =>
  z.unknown().superRefine((value, context) => {
    if (value === undefined) return
    const message = jsonFlaw(value, remedy)
    if (message !== null) context.addIssue({ code: 'custom', message })
  })

export const anyJson = jsonField()

/** Why a value cannot be stored as JSON, or null. A program with the library may pass any value. */
function jsonFlaw(value: unknown, remedy: string): string | null {
  const flaws: string[] = []
  const inspect = (_name: string, part: unknown): unknown => {
    // `1e999` is read as Infinity and would be stored as null, which is not what was sent.
    if (typeof part === 'number' && !Number.isFinite(part)) {
      flaws.push('must not contain a number too large for JSON')
    }
    if (typeof part !== 'bigint') return part
    flaws.push('must be JSON, which has no BigInt; pass a number, or its digits as text')
    return null
  }
  try {
    // The result is undefined for a value that JSON does not have, whatever its type says.
    const json = JSON.stringify(value, inspect) as string | undefined
    if (json === undefined)
      return `must be a value that JSON has, such as an object or a text, not a ${typeof value}`
    if (Buffer.byteLength(json) > jsonBytesMax)
      flaws.push(`must be at most 256 KB as JSON${remedy}`)
    return flaws[0] ?? null
  } catch (error) {
    return error instanceof RangeError
      ? 'must not be nested so deeply, or be so large'
      : 'must be JSON; this contains itself, or a toJSON() in it throws: pass a plain copy'
  }
}

/** A query has only text. A value that is not a plain number stays text and is refused. */
export function fromQuery<T extends z.ZodType>(number: T) {
  return z.preprocess(
    (value) => (typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value),
    number,
  )
}
