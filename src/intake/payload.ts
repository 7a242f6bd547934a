/**
 * Reads fields of a payload that may contain anything. A field that is missing, has another type,
 * is too long or contains control characters is null. Nothing here throws, and no value it returns
 * can break a database, a log line or a terminal.
 */

export type Path = readonly string[]

const controlFree = /^[^\p{Cc}\u2028\u2029]*$/u
const shaForm = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/i
const repoForm = /^[A-Za-z0-9_.-]{1,100}\/[A-Za-z0-9._-]{1,100}$/

export function valueAt(payload: unknown, ...path: Path): unknown {
  let value = payload
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Readonly<Record<string, unknown>>)[key]
  }
  return value
}

/** One line of at most 255 characters. */
export function textAt(payload: unknown, ...path: Path): string | null {
  const value = valueAt(payload, ...path)
  const isLine = typeof value === 'string' && value !== '' && value.length <= 255
  return isLine && controlFree.test(value) && value.isWellFormed() ? value : null
}

export function numberAt(payload: unknown, ...path: Path): number | null {
  const value = valueAt(payload, ...path)
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null
}

/** Lower case. */
export function shaAt(payload: unknown, ...path: Path): string | null {
  const value = textAt(payload, ...path)
  return value !== null && shaForm.test(value) ? value.toLowerCase() : null
}

/** `owner/name` in lower case. */
export function repoAt(payload: unknown, ...path: Path): string | null {
  const value = textAt(payload, ...path)
  return value !== null && repoForm.test(value) ? value.toLowerCase() : null
}

/** A time as GitHub writes it, in milliseconds. */
export function timeAt(payload: unknown, ...path: Path): number | null {
  const value = textAt(payload, ...path)
  const at = value === null || !/^\d{4}-\d\d-\d\dT/.test(value) ? Number.NaN : Date.parse(value)
  return Number.isNaN(at) || at < 0 ? null : at
}
