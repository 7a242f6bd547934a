/**
 * Port: what we ask of GitHub. Always outside a transaction. A question that rejects could not be
 * answered now and may be asked again later; a definite refusal is an answer.
 */
import type { Finding } from './domain/finding.ts'
import type { Role } from './domain/role.ts'
import type { HeadSource } from './head-source.ts'

export interface OwnAccount {
  /** Without the `[bot]` that GitHub adds to an App's. */
  readonly login: string
  /** GitHub's numeric user id; null where it cannot be learnt. */
  readonly id: number | null
  readonly kind: 'app' | 'user'
}

/**
 * `none`: known to GitHub, but no member. `no-such-user`: not known. `cannot-ask`: our credentials
 * may not see roles in this repository.
 */
export type RoleAnswer = Role | 'none' | 'no-such-user' | 'cannot-ask'

export interface GitHub extends HeadSource {
  /** Who our credentials act as; null when GitHub refuses them. */
  ownAccount(): Promise<OwnAccount | null>
  roleOf(repo: string, login: string): Promise<RoleAnswer>
  /** For `doctor`: credentials, permissions and webhook set-up. Never rejects. */
  checkSetup(): Promise<readonly Finding[]>
}
