/**
 * Reads a JSON body.
 *
 * What must hold: bytes that are not UTF-8 are refused, not replaced; nesting is bounded, since
 * writing a value back as text goes as deep as the value does. Keys such as `__proto__` stay plain
 * data: parsing makes them own properties, and nothing here or after merges bodies into objects.
 */
import type { FastifyRequest } from 'fastify'
import { HttpProblem } from '../answers/problem.ts'
import { invalid } from './validation.ts'

const depthMax = 100
const utf8 = new TextDecoder('utf-8', { fatal: true })

export function parseJsonBody(request: FastifyRequest, bytes: Buffer): unknown {
  const encoding = request.headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new HttpProblem(415, 'unsupported_encoding', 'Send the body without Content-Encoding.')
  }
  // Many clients name the type of a body they do not send.
  if (bytes.length === 0) return undefined
  const value = parse(bytes)
  // The framework has null stand for no body at all.
  if (value === null) throw invalid(400, [{ field: 'body', message: 'must be an object' }])
  if (isDeeperThan(depthMax, value)) {
    throw new HttpProblem(400, 'too_deep', `A body nests at most ${depthMax} levels.`)
  }
  return value
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(bytes))
  } catch {
    throw new HttpProblem(400, 'invalid_json', 'The body is not valid JSON in UTF-8.')
  }
}

function isDeeperThan(max: number, root: unknown): boolean {
  let level: unknown[] = [root]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > max) return true
    level = level.flatMap((value) =>
      typeof value === 'object' && value !== null ? (Object.values(value) as unknown[]) : [],
    )
  }
  return false
}
