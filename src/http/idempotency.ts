/**
 * Idempotency keys, prepared for the store: what a key is kept under, what its body was, and how
 * its answer is sealed.
 *
 * What must hold: a header's key belongs to one token, method and path; the kept answer may hold a
 * lease or a token, so it is encrypted under a key that is made from the caller's own bearer token,
 * which is not stored anywhere.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Random } from '../random.ts'
import { hashSecret } from '../secrets.ts'
import type { IdempotencyKey } from '../store.ts'
import { bearerOf } from './authenticate.ts'
import { invalid } from './validation.ts'

const ivBytes = 12
const tagBytes = 16

/** Refuses a malformed key before anything is done under it. */
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
  const keyHash = hashOf([hashSecret(bearer), request.method, path, key])
  return {
    keyHash,
    bodyHash: hashOf(sorted(request.body ?? {})),
    ...sealer(bearer, keyHash, random),
  }
}

/**
 * A key within a run, whoever sends it. Its answer holds nothing that the store does not hold
 * anyway, so that the key itself may open it.
 */
export function onceInRun(
  { runId, key, text }: { readonly runId: string; readonly key: string; readonly text: string },
  random: Random,
): IdempotencyKey {
  const keyHash = hashOf(['run status', runId, key])
  return { keyHash, bodyHash: hashOf(text), ...sealer(`${runId} ${key}`, keyHash, random) }
}

function sealer(
  secret: string,
  keyHash: string,
  random: Random,
): Pick<IdempotencyKey, 'seal' | 'open'> {
  const secretKey = () =>
    new Uint8Array(hkdfSync('sha256', secret, keyHash, 'holdfast idempotent answer', 32))
  return {
    seal(text) {
      const iv = random.bytes(ivBytes)
      const cipher = createCipheriv('aes-256-gcm', secretKey(), iv)
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
    },
    open(sealed) {
      const bytes = Buffer.from(sealed, 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', secretKey(), bytes.subarray(0, ivBytes))
      decipher.setAuthTag(bytes.subarray(ivBytes, ivBytes + tagBytes))
      const opened = decipher.update(bytes.subarray(ivBytes + tagBytes))
      return Buffer.concat([opened, decipher.final()]).toString('utf8')
    },
  }
}

function hashOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex')
}

/** The same value whatever order its keys were sent in: objects become sorted pairs. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return ['array', ...value.map(sorted)]
  const pairs = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1))
  return ['object', ...pairs.map(([key, inner]) => [key, sorted(inner)])]
}
