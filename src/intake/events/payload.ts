/**
 * A webhook's body: parsed the same way when it arrives and when it is read from the store, packed
 * for the store, and read field by field.
 *
 * What must hold:
 * - Bytes that are not UTF-8 are refused, not replaced. Nesting is limited, because JSON.stringify
 *   recurses as deep as the value is nested.
 * - A payload may contain anything. A field that is missing, has another type, is too long or
 *   contains control characters is read as null. So no value can break a database, a log line or a
 *   terminal.
 */
import { isUtf8 } from 'node:buffer'
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'
import { InvalidInputError } from '../../errors.ts'

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

const textMax = 255

/** One line of at most 255 characters. */
export function textAt(payload: unknown, ...path: Path): string | null {
  const value = valueAt(payload, ...path)
  const isLine = typeof value === 'string' && value !== '' && value.length <= textMax
  return isLine && controlFree.test(value) && value.isWellFormed() ? value : null
}

/** Why a field that is needed was read as null. */
export function unusableWords(payload: unknown, ...path: Path): string {
  const value = valueAt(payload, ...path)
  const field = path.join('.')
  if (value === undefined || value === null || value === '') return `${field} is missing`
  return typeof value === 'string' && value.length > textMax
    ? `${field} has ${value.length} characters; at most ${textMax} are accepted`
    : `${field} has a value that cannot be used`
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

/** GitHub's payloads nest about ten levels. */
const depthMax = 100

export function parsePayload(body: Buffer): unknown {
  const payload = parse(body)
  if (!isWithin(depthMax, payload)) {
    throw new InvalidInputError(
      'too_deep',
      'body',
      `the body is nested more than ${depthMax} levels deep`,
    )
  }
  return payload
}

function parse(body: Buffer): unknown {
  try {
    if (isUtf8(body)) return JSON.parse(body.toString())
  } catch {
    // Reported below, together with bytes that are not text.
  }
  throw new InvalidInputError('not_json', 'body', 'the body is not JSON', {
    hint: 'Set the content type of the webhook to application/json in GitHub.',
  })
}

function isWithin(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (levels === 0) return false
  // for…in is safe here: parsed JSON inherits nothing. Object.values would make a list first.
  for (const key in value) {
    if (!isWithin(levels - 1, (value as Readonly<Record<string, unknown>>)[key])) return false
  }
  return true
}

/** Brotli at its fastest makes a body ten times smaller. That costs less than writing it whole. */
const fastest = { params: { [constants.BROTLI_PARAM_QUALITY]: 0 } }

/** The form in which a body is stored. `unpackBody` gives back exactly the same bytes. */
export const packBody = (body: Uint8Array): Uint8Array => brotliCompressSync(body, fastest)
export const unpackBody = (packed: Uint8Array): Buffer => brotliDecompressSync(packed)
