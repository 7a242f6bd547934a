/**
 * A webhook's body: parsed the same way when it arrives and when it is read from the store, and
 * packed for the store.
 *
 * What must hold: bytes that are not UTF-8 are refused, not replaced. Nesting is limited, because
 * JSON.stringify recurses as deep as the value is nested.
 */
import { isUtf8 } from 'node:buffer'
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'
import { InvalidInputError } from '../errors.ts'

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

/** Brotli at its fastest: a body shrinks to a tenth, so writing it costs less than writing all. */
const fastest = { params: { [constants.BROTLI_PARAM_QUALITY]: 0 } }

/** The form in which a body is stored. `unpackBody` gives back exactly the same bytes. */
export const packBody = (body: Uint8Array): Uint8Array => brotliCompressSync(body, fastest)
export const unpackBody = (packed: Uint8Array): Buffer => brotliDecompressSync(packed)
