/**
 * The kinds of value in a config file. Messages say what is wrong with the value, to be read after
 * its path: "runs.review.onNewer must be …".
 */
import { types } from 'node:util'
import { z } from 'zod'
import { didYouMeanOrAll, didYouMeanValue } from '../../validation/nearest.ts'

export const wholeNumber = (min: number, max: number) => {
  const message = `must be a whole number from ${min} to ${max}`
  return z.number(message).int(message).min(min, message).max(max, message)
}
export const text = z
  .string('must be a text')
  .regex(/^[^\p{Cc}]{1,200}$/u, 'must be a text of one line')
export const oneOf = <const T extends string>(values: readonly T[]) =>
  z.enum(values, {
    error: ({ input }) => {
      const meant = typeof input === 'string' ? didYouMeanValue(input, values) : ''
      const allowed = `must be one of ${values.join(', ')}`
      return meant === '' ? allowed : `${allowed}. ${meant}`
    },
  })
export const list = <T extends z.ZodType>(item: T) => z.array(item, 'must be a list')
/** A function whose answer is used at once, so it may not be async. */
export const callback = <T>() =>
  z.custom<T>((value) => typeof value === 'function' && !types.isAsyncFunction(value), {
    error: ({ input }) =>
      types.isAsyncFunction(input)
        ? 'is async, but Holdfast uses its answer at once. Remove async and await from it'
        : 'must be a function',
  })
export const yesOrNo = z.boolean('must be true or false')

/** Like a union, but the error is that of the one form that the value has most likely. */
export function pickSchema<T extends z.ZodType>(pick: (value: unknown) => T) {
  return z.unknown().transform((value, context): z.output<T> => {
    const parsed = pick(value).safeParse(value)
    if (parsed.success) return parsed.data
    addIssues(parsed.error.issues, context, [])
    return z.NEVER
  })
}

/** Adds the issues of an inner value, with `place` before their paths. */
export function addIssues(
  issues: readonly z.core.$ZodIssue[],
  context: z.core.$RefinementCtx,
  place: readonly PropertyKey[],
): void {
  for (const issue of issues) {
    const path = [...place, ...issue.path]
    context.issues.push({ ...issue, path, input: undefined })
  }
}

/**
 * An object in which an unknown key is an error. `otherPlaces` has the message for a key that
 * exists but is not allowed here. The error has one line for each wrong key.
 */
export function closedObject<Shape extends z.core.$ZodLooseShape>(
  shape: Shape,
  otherPlaces: ReadonlyMap<string, string> = new Map(),
): z.ZodObject<Shape, z.core.$strict> {
  const knownKeys = Object.keys(shape)
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => unknownKey(key, knownKeys, otherPlaces)).join('\n')
        : 'must be an object',
  })
}

function unknownKey(
  key: string,
  knownKeys: readonly string[],
  otherPlaces: ReadonlyMap<string, string>,
): string {
  const place = otherPlaces.get(key)
  if (place !== undefined) return place
  const meant = didYouMeanOrAll(key, knownKeys, 'Known keys')
  return `has the unknown key ${JSON.stringify(key)}. ${meant}`
}
