/**
 * Parses a JSON body and a query string.
 *
 * What must hold: bytes that are not UTF-8 are refused, not replaced. The depth of a body is
 * limited, because writing a value as text recurses as deep as the value. Keys such as `__proto__`
 * are plain data: parsing makes them own properties, and no code merges bodies into objects.
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
  // Many clients send a Content-Type without a body.
  if (bytes.length === 0) return undefined
  const value = parse(bytes)
  // For the framework, null means that there is no body.
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

export type Query = Record<string, string | string[] | null>

/**
 * Invalid percent-encoding becomes null and a repeated name becomes an array. No parameter allows
 * either, so both are then refused with the name of the parameter.
 */
export function parseQuery(text: string): Query {
  const query = Object.create(null) as Query
  for (const part of text.split('&')) {
    if (part === '') continue
    const at = part.indexOf('=')
    const rawName = at === -1 ? part : part.slice(0, at)
    const name = decode(rawName) ?? rawName
    const value = decode(at === -1 ? '' : part.slice(at + 1))
    query[name] = name in query ? [] : value
  }
  return query
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return null
  }
}
