/**
 * Encrypts the answer that is stored for an idempotency key. The answer may contain a lease or a
 * token. So its key is a secret of the caller's that is not stored anywhere.
 */
import { createCipheriv, createDecipheriv, createHash, hkdfSync } from 'node:crypto'
import type { Random } from '../random.ts'
import type { IdempotencyKey } from '../store.ts'

const ivBytes = 12
const tagBytes = 16

export interface SealedCall {
  /** Equal for a call and its repeat: the caller, the operation and the caller's key. */
  readonly call: readonly string[]
  /** A repeat with another input is refused. */
  readonly input: unknown
  /** Encrypts and decrypts the answer. */
  readonly secret: string
}

export function sealedOnce({ call, input, secret }: SealedCall, random: Random): IdempotencyKey {
  const keyHash = hashOf(call)
  const secretKey = () =>
    new Uint8Array(hkdfSync('sha256', secret, keyHash, 'holdfast idempotent answer', 32))
  return {
    keyHash,
    bodyHash: hashOf(input),
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
