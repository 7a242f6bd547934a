/**
 * Whether GitHub sent it: the HMAC over the very bytes that came. Every secret is tried, also after
 * one has fitted, so that the time it takes tells nothing.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

const form = /^sha256=([0-9a-f]{64})$/i

/** Several secrets while one is being replaced by another. */
export function isSignedBy(
  secrets: readonly string[],
  body: Uint8Array,
  signature: string | undefined,
): boolean {
  const given = Buffer.from(form.exec(signature ?? '')?.[1] ?? '', 'hex')
  if (given.length !== 32) return false
  return secrets
    .map((secret) => timingSafeEqual(given, createHmac('sha256', secret).update(body).digest()))
    .some(Boolean)
}
