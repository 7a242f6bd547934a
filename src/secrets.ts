/**
 * Secrets of tokens and leases. The store keeps only their hashes.
 *
 * A lease has one secret in two forms. `hfl_SECRET` is the lease token that a worker sends in a
 * body. `hfr_RUN.SECRET` is the run token that a child process sends as its bearer token. Both have
 * the same hash and fence, so either form proves the lease. `hft_ID.SECRET` is a scoped token.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import type { Random } from './random.ts'

export function makeSecret(random: Random): string {
  return random.bytes(24).toString('base64url')
}

export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex')
}

/** Compares two hashes in constant time, so that the duration does not show where they differ. */
export function sameHash(left: string, right: string): boolean {
  const a = Buffer.from(left)
  const b = Buffer.from(right)
  return a.length === b.length && timingSafeEqual(a, b)
}

export const leaseToken = (secret: string): string => `hfl_${secret}`
export const runToken = (runId: string, secret: string): string => `hfr_${runId}.${secret}`
export const scopedToken = (id: string, secret: string): string => `hft_${id}.${secret}`

/**
 * The hash that the store keeps for a lease token. A text of another form never matches a lease.
 */
export function hashLeaseToken(token: string): string {
  return token.startsWith('hfl_') ? hashSecret(token.slice(4)) : 'not-a-lease-token'
}

export interface ParsedBearer {
  readonly kind: 'run' | 'scoped'
  readonly id: string
  readonly secret: string
}

/** Splits a run token or scoped token into its parts. Returns null for any other text. */
export function parseBearer(bearer: string): ParsedBearer | null {
  const match = /^(hfr|hft)_([a-z0-9_]{1,100})\.([\w-]{1,200})$/.exec(bearer)
  if (match === null) return null
  const [, prefix, id, secret] = match
  if (id === undefined || secret === undefined) return null
  return { kind: prefix === 'hfr' ? 'run' : 'scoped', id, secret }
}
