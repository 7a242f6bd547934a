/**
 * Port: what we ask of GitHub. Always outside a transaction. A question that rejects could not be
 * answered now and may be asked again later; a definite refusal is an answer.
 */
import type { z } from 'zod'
import type { Finding } from './domain/finding.ts'
import type { Role } from './domain/role.ts'
import type { HeadSource, RepositoryRef } from './head-source.ts'

export type { RepositoryRef } from './head-source.ts'

export interface OwnAccount {
  /** Without the `[bot]` that GitHub adds to an App's. */
  readonly login: string
  /** GitHub's numeric user id; null where it cannot be learnt. */
  readonly id: number | null
  /** GitHub's numeric id of the App; null for a user. */
  readonly appId: number | null
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
  roleOf(repository: RepositoryRef, login: string): Promise<RoleAnswer>
  /** For `doctor`: credentials, permissions and webhook set-up. Never rejects. */
  checkSetup(): Promise<readonly Finding[]>
}

export interface NamedRepository {
  readonly githubId: number
  readonly name: string
}

/** An answer, with its headers by lower-case name. */
export interface Reply<T> {
  readonly data: T
  readonly headers: Readonly<Record<string, string | number | undefined>>
}

/** What is written to GitHub, and read to know what became of it. Rejects with GitHubError. */
export interface GitHubCalls {
  /**
   * One call below `/repos/{owner}/{repo}`, which is replaced by the repository's place. Of the
   * parameters, those the route does not name are the body, or the query of a GET. On the monotonic
   * clock, a request that cannot leave by `sendBy` does not leave (`too_late`).
   */
  call<T>(
    repository: RepositoryRef,
    form: z.ZodType<T>,
    route: string,
    parameters: Readonly<Record<string, unknown>>,
    sendBy: number,
  ): Promise<Reply<T>>
  /**
   * GitHub's id of the repository that has this name now, and the name as GitHub spells it. `told`:
   * the id that a caller gave for it, which only a sandbox goes by.
   */
  repositoryNamed(repo: string, told?: number | null): Promise<NamedRepository>
  /** Who is limited together when we act there. */
  identityOf(repository: RepositoryRef): Promise<string>
  /** Whose credentials these are, wherever we act. */
  readonly ownIdentity: string
  /**
   * What GitHub's clock showed when ours showed this; null when it cannot be said: GitHub's is not
   * known yet, or the time has not come by ours.
   */
  githubTimeOf(ourMs: number): number | null
}

/** What may have been missed: GitHub's record of what it sent, and pull requests as they are. */
export interface GitHubListings {
  /** A page of what the App's hook has sent, newest first; null when we are no App. */
  hookDeliveries(cursor: string | null): Promise<HookDeliveryPage | null>
  /** What was sent; null when GitHub has it no more. */
  hookDelivery(id: number): Promise<SentWebhook | null>
  /** Open and closed ones, the last changed first. Pages count from 1. */
  pulls(repository: RepositoryRef, page: number): Promise<PullPage>
  /** Null when there is no such pull request. */
  pull(repository: RepositoryRef, number: number): Promise<ListedPull | null>
}

/** All that our credentials let us do there. */
export type GitHubConnection = GitHub & GitHubCalls & GitHubListings

export interface HookDeliveryPage {
  readonly items: readonly HookDeliveryItem[]
  readonly nextCursor: string | null
}

export interface HookDeliveryItem {
  readonly id: number
  /** Of the event: the same for every attempt to deliver it. */
  readonly guid: string
  readonly deliveredAt: number
  readonly event: string
  readonly action: string | null
  /** The status of our answer; 0 when GitHub could not reach us, null when it does not say. */
  readonly answered: number | null
}

export interface SentWebhook {
  readonly headers: Readonly<Record<string, string>>
  readonly payload: unknown
}

export interface PullPage {
  readonly items: readonly ListedPull[]
  readonly more: boolean
}

export interface ListedPull {
  readonly number: number
  readonly state: 'open' | 'closed'
  readonly headSha: string
  readonly updatedAt: number
  /** The pull request as GitHub tells of it, here and in webhooks. */
  readonly whole: Readonly<Record<string, unknown>>
}
