/**
 * Objects of the config file that know all their keys. An unknown key is an error with a
 * suggestion, and so is a key that exists but may only come from the environment.
 */
import { z } from 'zod'
import { didYouMeanOrAll } from '../validation/nearest.ts'

/**
 * `elsewhere` says for keys that are not allowed here where they belong. The message has a line for
 * each key.
 */
export function closedObject<Shape extends z.core.$ZodLooseShape>(
  shape: Shape,
  elsewhere: ReadonlyMap<string, string> = new Map(),
): z.ZodObject<Shape, z.core.$strict> {
  const known = Object.keys(shape)
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => unknownKey(key, known, elsewhere)).join('\n')
        : 'must be an object',
  })
}

function unknownKey(
  key: string,
  known: readonly string[],
  elsewhere: ReadonlyMap<string, string>,
): string {
  const place = elsewhere.get(key)
  if (place !== undefined) return place
  return `has the unknown key ${JSON.stringify(key)}. ${didYouMeanOrAll(key, known, 'Known keys')}`
}
