/** The keys and seals of repeated requests. */
import type { FastifyRequest } from 'fastify'
import { describe, expect, test } from 'vitest'
import { systemRandom } from '../../random.ts'
import type { IdempotencyKey } from '../../store.ts'
import { onceOf } from './idempotency.ts'

interface Sent {
  readonly token?: string
  readonly method?: string
  readonly url?: string
  readonly key?: string
  readonly body?: unknown
}

function once({
  token = 'a',
  method = 'POST',
  url = '/v1/runs',
  key = 'k',
  body,
}: Sent = {}): IdempotencyKey {
  const headers = { authorization: `Bearer ${token}`, 'idempotency-key': key }
  const made = onceOf({ headers, method, url, body } as unknown as FastifyRequest, systemRandom)
  if (made === undefined) throw new Error('no key was found')
  return made
}

describe('an idempotency key', () => {
  test('belongs to one token, method and path', () => {
    const { keyHash } = once()
    expect(once().keyHash).toBe(keyHash)
    expect(once({ url: '/v1/runs?x=1' }).keyHash).toBe(keyHash)
    for (const other of [{ token: 'b' }, { method: 'PUT' }, { url: '/v1/tokens' }, { key: 'k2' }]) {
      expect(once(other).keyHash).not.toBe(keyHash)
    }
  })

  test('recognizes a body by its value, whatever the order of its keys is', () => {
    const { bodyHash } = once({ body: { a: [1, { b: 2, c: null }], d: 'x' } })
    expect(once({ body: { d: 'x', a: [1, { c: null, b: 2 }] } }).bodyHash).toBe(bodyHash)
    const others = [
      { a: [{ b: 2, c: null }, 1], d: 'x' },
      { a: [1, { b: '2', c: null }], d: 'x' },
      { a: [1, { b: 2 }], d: 'x' },
      { a: [1, ['b', 2, 'c', null]], d: 'x' },
      {},
    ]
    for (const body of others) expect(once({ body }).bodyHash).not.toBe(bodyHash)
    expect(once().bodyHash).toBe(once({ body: {} }).bodyHash)
  })

  test('seals its answer so that only the same caller can read it', () => {
    const sealed = once().seal('a lease: häßlich')
    expect(Buffer.from(sealed, 'base64url').toString('latin1')).not.toContain('lease')
    expect(once().seal('a lease: häßlich')).not.toBe(sealed)
    expect(once().open(sealed)).toBe('a lease: häßlich')
    expect(() => once({ token: 'b' }).open(sealed)).toThrow()
    expect(() => once({ key: 'k2' }).open(sealed)).toThrow()
  })

  test('does not open an answer that was changed', () => {
    const bytes = Buffer.from(once().seal('answer'), 'base64url')
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
    expect(() => once().open(bytes.toString('base64url'))).toThrow()
  })
})
