/**
 * What is wrong with a value that a caller gave, in our words, with one finding for each field. The
 * words are the same for HTTP, the command line and the library.
 */
import type { z } from 'zod'
import { fieldsAt } from './fields-at.ts'
import { didYouMeanValue, unknownField } from './nearest.ts'

/** A value can be wrong in a hundred thousand places. */
const unknownKeysMax = 20
/** How zod's own message begins. It is used if the schema has no message. */
const zodWords = 'Invalid input'

export interface Finding {
  readonly path: readonly PropertyKey[]
  /** To be read after the field's name. */
  readonly message: string
  /** The shape is wrong, not just the value. */
  readonly shape: boolean
}

type Issue = z.core.$ZodIssue

export function findingsOf(
  schema: z.ZodType,
  issues: readonly Issue[],
  data: unknown,
): readonly Finding[] {
  // One value can break several rules that have the same words.
  const found = new Map<string, Finding>()
  for (const finding of issues.flatMap((issue) => flatten(schema, issue, data))) {
    const { path, message } = finding
    found.set(JSON.stringify([...path.map(String), message]), finding)
  }
  return [...found.values()]
}

function flatten(schema: z.ZodType, issue: Issue, data: unknown): readonly Finding[] {
  const { path } = issue
  const value = valueAt(data, path)
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.slice(0, unknownKeysMax).map((key) => ({
        path: [...path, key],
        message: unknownField(key, fieldsAt(schema, path)),
        shape: true,
      }))
    case 'invalid_type': {
      const isOurs = value !== undefined && !issue.message.startsWith(zodWords)
      const message = isOurs ? issue.message : typeMessage(issue.expected, value)
      return [{ path, message, shape: true }]
    }
    case 'invalid_value': {
      const values = issue.values.map(String)
      const meant = typeof value === 'string' ? didYouMeanValue(value, values) : ''
      const message = [`must be ${listed(values)}`, meant].filter(Boolean).join('. ')
      const shape = !issue.values.some((one) => typeof one === typeof value)
      return [{ path, message, shape }]
    }
    case 'invalid_union':
      return flattenUnion(schema, issue, data)
    case 'custom':
      return [{ path, message: issue.message, shape: issue.params?.['shape'] === true }]
    default:
      return [{ path, message: issue.message, shape: false }]
  }
}

/**
 * If a value may have several forms, the problems are those of the form with the type of the value.
 * If no form has that type, the shape is wrong.
 */
function flattenUnion(
  schema: z.ZodType,
  issue: z.core.$ZodIssueInvalidUnion,
  data: unknown,
): readonly Finding[] {
  const fitting = issue.errors.find(
    (branch) => !branch.some((inner) => inner.code === 'invalid_type' && inner.path.length === 0),
  )
  if (fitting === undefined) {
    return [{ path: issue.path, message: 'has the wrong type', shape: true }]
  }
  const placed = fitting.map((inner) => ({ ...inner, path: [...issue.path, ...inner.path] }))
  return findingsOf(schema, placed, data)
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
