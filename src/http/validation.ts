/**
 * Checks requests against the contract and says what is wrong with them.
 *
 * 400 is for a wrong shape (a field missing, unknown or of another type, a bad path), 422 for a
 * right shape with a value that will not do. Where both occur, the shape is told first.
 */
import type { FastifySchemaCompiler } from 'fastify'
import type { z } from 'zod'
import { formFor } from './contract.ts'
import { HttpProblem, type FieldError } from './problem.ts'

/** Enough to mend a request by; a body can be wrong in a hundred thousand places. */
const errorsMax = 20

type Issue = z.core.$ZodIssue
type Part = 'body' | 'params' | 'querystring' | 'headers'

export const checkRequest: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  return (sent: unknown) => {
    // The framework says null where no body came.
    const data = httpPart === 'body' && sent === null ? undefined : sent
    const checked = formFor(schema, data).safeParse(data)
    if (checked.success) return { value: checked.data }
    return { error: refusal(checked.error.issues, data, (httpPart ?? 'body') as Part) }
  }
}

function refusal(issues: readonly Issue[], data: unknown, part: Part): HttpProblem {
  const found = issues.flatMap((issue) => flatten(issue, data))
  const shape = found.filter((one) => one.shape)
  const status = shape.length > 0 || part === 'params' ? 400 : 422
  const told = (status === 400 && shape.length > 0 ? shape : found).map(({ path, message }) => ({
    field: path.map(String).join('.') || part,
    message,
  }))
  return invalid(status, told)
}

export function invalid(status: 400 | 422, found: readonly FieldError[]): HttpProblem {
  const errors = found.slice(0, errorsMax).map(({ field, message }) => ({
    field: printable(field),
    message,
  }))
  const code = status === 400 ? 'invalid_request' : 'invalid_value'
  const detail = errors.map(({ field, message }) => `${field} ${message}`).join('; ')
  return new HttpProblem(status, code, `${shortened(detail)}.`, { errors })
}

interface Finding {
  readonly path: readonly PropertyKey[]
  readonly message: string
  /** The shape is wrong, not just the value. */
  readonly shape: boolean
}

function flatten(issue: Issue, data: unknown): readonly Finding[] {
  const { path } = issue
  const value = valueAt(data, path)
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.slice(0, 20).map((key) => ({
        path: [...path, key],
        message: 'is not known here',
        shape: true,
      }))
    case 'invalid_type':
      return [{ path, message: typeMessage(issue.expected, value), shape: true }]
    case 'invalid_value': {
      const message = `must be ${listed(issue.values.map(String))}`
      return [{ path, message, shape: typeof value !== 'string' }]
    }
    case 'invalid_union':
      return flattenUnion(issue, value)
    default:
      return [{ path, message: issue.message, shape: false }]
  }
}

/** Of several forms, the one whose type the value has speaks; with none, the shape is wrong. */
function flattenUnion(issue: z.core.$ZodIssueInvalidUnion, value: unknown): readonly Finding[] {
  const fitting = issue.errors.find(
    (branch) => !branch.some((inner) => inner.code === 'invalid_type' && inner.path.length === 0),
  )
  if (fitting === undefined) {
    return [{ path: issue.path, message: 'has the wrong type', shape: true }]
  }
  return fitting
    .flatMap((inner) => flatten(inner, value))
    .map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }))
}

function typeMessage(expected: string, value: unknown): string {
  if (value === undefined) return 'is required'
  const name = expected === 'int' ? 'whole number' : expected
  return `must be ${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`
}

function valueAt(data: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, key) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, key)
        ? (at as Record<PropertyKey, unknown>)[key]
        : undefined,
    data,
  )
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

/** A field's name comes from the caller and goes to logs and screens. */
function printable(name: string): string {
  return shortened(name.replaceAll(/[\p{Cc}\p{Cs}\u2028\u2029]/gu, '\uFFFD'), 100)
}

function shortened(text: string, max = 1000): string {
  return text.length <= max ? text : `${text.slice(0, max)}…`
}
