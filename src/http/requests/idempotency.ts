/**
 * Checks the header Idempotency-Key and prepares it for the store.
 *
 * What must hold: a key belongs to one token, method and path. Its answer is encrypted with the
 * caller's own bearer token, which is not stored anywhere.
 */
import type { FastifyRequest } from 'fastify'
import type { Random } from '../../random.ts'
import { hashSecret } from '../../secrets.ts'
import type { IdempotencyKey } from '../../store.ts'
import { sealedOnce } from '../../operations/sealed-answer.ts'
import { bearerOf } from '../access/authenticate.ts'
import { invalid } from './validation.ts'

/** Refuses a malformed key before anything is done. */
export function checkIdempotencyKey(request: FastifyRequest): void {
  const given = request.headers['idempotency-key']
  if (given === undefined || request.method !== 'POST') return
  if (typeof given !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(given)) {
    throw invalid(400, [
      { field: 'Idempotency-Key', message: 'must be 1 to 255 visible ASCII characters' },
    ])
  }
}

export function onceOf(request: FastifyRequest, random: Random): IdempotencyKey | undefined {
  const key = request.headers['idempotency-key']
  const bearer = bearerOf(request)
  if (typeof key !== 'string' || bearer === null) return undefined
  const path = request.url.split('?', 1)[0] ?? ''
  const call = [hashSecret(bearer), request.method, path, key]
  return sealedOnce({ call, input: sorted(request.body ?? {}), secret: bearer }, random)
}

/** Returns the same value for any order of keys: objects become sorted pairs. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return ['array', ...value.map(sorted)]
  const pairs = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1))
  return ['object', ...pairs.map(([key, inner]) => [key, sorted(inner)])]
}
