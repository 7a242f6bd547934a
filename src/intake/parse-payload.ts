/**
 * A webhook's body as JSON, the same at the door and when it is read from the store again.
 *
 * What must hold: bytes that are not UTF-8 are refused, not replaced; nesting is bounded, since
 * writing a value back as text goes as deep as the value does.
 */
import { isUtf8 } from 'node:buffer'
import { InvalidInputError } from '../errors.ts'

/** GitHub's payloads nest about ten levels. */
const depthMax = 100

export function parsePayload(body: Buffer): unknown {
  const payload = parse(body)
  if (isDeeperThan(depthMax, payload)) {
    throw new InvalidInputError('too_deep', 'body', `a webhook nests at most ${depthMax} levels`)
  }
  return payload
}

function parse(body: Buffer): unknown {
  try {
    if (isUtf8(body)) return JSON.parse(body.toString().replace(/^\ufeff/, ''))
  } catch {
    // Told below, like bytes that are no text.
  }
  throw new InvalidInputError('not_json', 'body', 'the body is not JSON', {
    hint: 'Set the content type of the webhook to application/json in GitHub.',
  })
}

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(levels - 1, inner))
}
