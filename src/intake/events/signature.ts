/**
 * Whether GitHub sent a webhook: checks the HMAC over the received bytes. Every secret is tried,
 * even after a match, so that the time taken reveals nothing.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

const form = /^sha256=([0-9a-f]{64})$/i

/** There are several secrets while one is being replaced. */
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
