/**
 * Who may call what. A route names the scopes that reach it; one that names none is closed to all
 * but the admin, so that forgetting to think about access fails closed.
 */
import type { FastifyRequest } from 'fastify'
import type { LeaseToken } from '../../domain/run.ts'
import type { TokenLimits } from '../../domain/token-limits.ts'

/** `run` is a run token, which reaches only its own run's endpoints. */
export type Reach = 'operator' | 'worker' | 'read' | 'bot' | 'run'
export type Access = 'public' | readonly Reach[]

export type Principal =
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
      /** What its lease was obtained with; null for the admin's own token. */
      readonly tokenId: string | null
    }

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: Access
    /** A page that asks for the token instead of a bare 401, for browsers. */
    asksForToken?: boolean
  }
}

/** Everybody with a token of their own; a run token is for one run. */
export const anyToken: Access = ['operator', 'worker', 'read', 'bot']

export function reaches(principal: Principal, request: FastifyRequest): boolean {
  const { access } = request.routeOptions.config
  if (access === 'public' || isAdmin(principal)) return true
  if (access === undefined) return false
  if (principal.kind === 'run') {
    return access.includes('run') && ownId(request) === principal.runId
  }
  const kind = principal.kind === 'token' ? principal.scope.split(':')[0] : undefined
  return access.some((reach) => reach !== 'run' && reach === kind)
}

/** What a lease that the caller obtains ends with. */
export function leaseTokenOf(principal: Principal): LeaseToken | undefined {
  if (principal.kind !== 'token') return undefined
  return { id: principal.tokenId, until: principal.expiresAt }
}

function isAdmin(principal: Principal): boolean {
  return principal.kind === 'admin' || (principal.kind === 'token' && principal.scope === 'admin')
}

function ownId(request: FastifyRequest): unknown {
  return (request.params as Readonly<Record<string, unknown>>)['id']
}
