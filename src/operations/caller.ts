/** The caller of an operation: what it may do, and its name in the audit. */
import type { LeaseToken } from '../domain/run.ts'
import type { TokenLimits } from '../domain/token-limits.ts'
import { hashLeaseToken } from '../secrets.ts'
import { invalidRequest, invalidValue } from './invalid-input.ts'

/** `run` is a run token, which reaches only its own run. The admin reaches everything. */
export type Scope = 'operator' | 'worker' | 'read' | 'bot' | 'run'

export type Caller =
  | { readonly kind: 'admin'; readonly actor: string }
  | {
      readonly kind: 'token'
      readonly actor: string
      readonly scope: string
      readonly tokenId: string
      readonly expiresAt: number | null
      readonly limits: TokenLimits
    }
  | {
      readonly kind: 'run'
      readonly actor: string
      readonly runId: string
      readonly leaseHash: string
      /** The token that the lease was obtained with; null for the admin's own token. */
      readonly tokenId: string | null
    }

/** Somebody who opens the store directly may do everything. `actor`: the name in the audit. */
export const localCaller = (actor: string): Caller => ({ kind: 'admin', actor })

export function isAdmin(caller: Caller): boolean {
  return caller.kind === 'admin' || (caller.kind === 'token' && caller.scope === 'admin')
}

/** Returns undefined if the caller has no limits besides its scope. */
export function limitsOf(caller: Caller): TokenLimits | undefined {
  if (caller.kind !== 'token') return undefined
  const { repositories, types } = caller.limits
  return repositories === null && types === null ? undefined : caller.limits
}

/** A lease that the caller obtains ends with this token. */
export function leaseTokenOf(caller: Caller): LeaseToken | undefined {
  if (caller.kind !== 'token') return undefined
  return { id: caller.tokenId, until: caller.expiresAt }
}

/** The hash of the caller's lease: of the lease that it names, or that of its run token. */
export function heldLeaseHash(caller: Caller, token: string | undefined): string {
  if (token !== undefined) return hashLeaseToken(token)
  if (caller.kind === 'run') return caller.leaseHash
  throw invalidRequest('lease_token', 'is required')
}

/**
 * The same for reporting a run's status and publishing its outputs. Returns null for an admin or
 * operator, who may do both without a lease.
 */
export function leaseHashToPublish(caller: Caller, token: string | undefined): string | null {
  if (token !== undefined) return hashLeaseToken(token)
  if (caller.kind === 'run') return caller.leaseHash
  if (caller.kind === 'token' && caller.scope === 'worker') {
    throw invalidValue('lease_token', 'is required with a token of the scope worker')
  }
  return null
}
