/**
 * Port: the store's part for tokens. A token's secret is returned once, when the token is created.
 * The store has only its hash. As with every verb of the store: one transaction with its audit
 * rows.
 */
import type { RefusedCredential } from '../domain/audit.ts'
import type { TokenLimits } from '../domain/token-limits.ts'
import type { IdempotencyKey } from './idempotency-key.ts'
import type { Page, Paged } from './page.ts'

export interface TokenStore {
  create(token: NewToken, idempotencyKey: IdempotencyKey | null): Promise<CreatedToken>
  list(page: Page): Promise<Paged<Token>>
  /** The token, and the leases that were obtained with it, are refused from now on. */
  revoke(id: string, actor: string): Promise<void>
  get(id: string): Promise<StoredToken | null>
  /** Notes that it was used now. Written at most once a minute, however often this is called. */
  touch(id: string): Promise<void>
  /** Wrong tokens and signatures of the last minute, for the audit. */
  noteRefusals(refusals: readonly Refusals[]): Promise<void>
  /** Which of these were revoked or have run out. */
  ended(ids: readonly string[]): Promise<readonly string[]>
}

export interface Refusals {
  /** Where they came from. */
  readonly address: string
  readonly what: RefusedCredential
  readonly count: number
}

export interface Token {
  readonly id: string
  readonly scope: string
  readonly name: string | null
  readonly userId: number | null
  readonly limits: TokenLimits
  readonly createdAt: number
  /** Null when it does not end by itself. */
  readonly expiresAt: number | null
  /** Exact to a minute; null if it was never used. */
  readonly lastUsedAt: number | null
}

export interface StoredToken extends Token {
  readonly secretHash: string
}

export interface NewToken {
  readonly scope: string
  readonly name: string | null
  readonly userId: number | null
  /** Patterns in lower case; left out or null for all repositories. */
  readonly repos?: readonly string[] | null
  readonly types?: readonly string[] | null
  readonly expiresAt?: number | null
  readonly secret: string
  readonly actor: string
}

export interface CreatedToken {
  readonly token: Token
  readonly secret: string
}
