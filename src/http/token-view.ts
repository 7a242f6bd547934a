/** A token as the wire shows it, never with its secret; and what the wire asks one to be. */
import type { z } from 'zod'
import type { NewToken, Token } from '../store.ts'
import type { tokenBody } from './contract.ts'
import { timeView } from './run-view.ts'

export function tokenView(token: Token) {
  const { limits, expiresAt, lastUsedAt } = token
  return {
    id: token.id,
    scope: token.scope,
    name: token.name,
    user_id: token.userId,
    repos: limits.repositories && limits.repositories.map(({ pattern }) => pattern),
    types: limits.types && [...limits.types],
    created_at: timeView(token.createdAt),
    expires_at: expiresAt === null ? null : timeView(expiresAt),
    last_used_at: lastUsedAt === null ? null : timeView(lastUsedAt),
  }
}

export function newTokenOf(body: z.infer<typeof tokenBody>): Omit<NewToken, 'secret' | 'actor'> {
  return {
    scope: body.scope,
    name: body.name ?? null,
    userId: body.user_id ?? null,
    repos: body.repos ?? null,
    types: body.types ?? null,
    expiresAt: body.expires_at ?? null,
  }
}
