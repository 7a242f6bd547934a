/** Reads fields of a request's body; an invalid one is refused with GitHub's text. */
import type { Json } from '../json/json.ts'
import { notSupplied, wrongType } from '../refusal.ts'
import type { Call } from './route.ts'

export function fieldsOf({ body }: Pick<Call, 'body'>): Json {
  return typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as Json) : {}
}

export function textField(fields: Json, name: string): string {
  const value = optionalText(fields, name)
  if (value === null) throw notSupplied(name)
  return value
}

/** Null for a field that is absent or null. */
export function optionalText(fields: Json, name: string): string | null {
  const value = fields[name] ?? null
  if (value === null || typeof value === 'string') return value
  throw wrongType(name, value, 'a string')
}

export function choiceField<T extends string>(
  fields: Json,
  name: string,
  choices: readonly T[],
): T | null {
  const value = optionalText(fields, name)
  if (value === null) return null
  const found = choices.find((choice) => choice === value)
  if (found === undefined) throw wrongType(name, value, `a member of ${JSON.stringify(choices)}`)
  return found
}

export function optionalNumber(fields: Json, name: string): number | null {
  const value = fields[name] ?? null
  if (value === null || typeof value === 'number') return value
  throw wrongType(name, value, 'an integer')
}

/** In milliseconds. */
export function optionalTime(fields: Json, name: string): number | null {
  const text = optionalText(fields, name)
  if (text === null) return null
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) throw wrongType(name, text, 'a valid date-time')
  return ms
}

export function listField(fields: Json, name: string): readonly Json[] {
  const value = fields[name] ?? []
  if (!Array.isArray(value)) throw wrongType(name, value, 'an array')
  return value.map((item: unknown) => {
    if (typeof item === 'object' && item !== null) return item as Json
    throw wrongType(name, item, 'an object')
  })
}
