/**
 * Port: what we ask GitHub, always outside a transaction. If a question rejects, GitHub gave no
 * answer, and the question may be asked again later. A clear refusal is an answer.
 */
import type { z } from 'zod'
import type { Finding } from './domain/finding.ts'
import type { GitHubPermissions } from './domain/github-permissions.ts'
import type { Role } from './domain/role.ts'
import type { HeadSource, RepositoryRef } from './head-source.ts'

export type { RepositoryRef } from './head-source.ts'

export interface OwnAccount {
  /** Without the `[bot]` that GitHub adds to the login of an App. */
  readonly login: string
  /** GitHub's numeric user id; null when GitHub does not say. */
  readonly id: number | null
  /** GitHub's numeric id of the App; null for a user. */
  readonly appId: number | null
  readonly kind: 'app' | 'user'
}

/**
 * `none`: the user exists but is not a member. `no-such-user`: the user does not exist.
 * `cannot-ask`: our credentials may not read roles in this repository.
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

/** Writes to GitHub, and reads what became of them. Rejects with GitHubError. */
export interface GitHubCalls {
  /**
   * One call below `/repos/{owner}/{repo}`; that part is replaced by the repository's own path.
   * Parameters that the route does not name become the body, or the query of a GET. A request that
   * cannot be sent by `sendBy` (monotonic clock) is not sent (`too_late`).
   */
  call<T>(
    repository: RepositoryRef,
    form: z.ZodType<T>,
    route: string,
    parameters: Readonly<Record<string, unknown>>,
    sendBy: number,
  ): Promise<Reply<T>>
  /**
   * GitHub's id of the repository that has this name now, and the name as GitHub spells it.
   * `unverifiedId` is the id that a caller gave; only the sandbox uses it.
   */
  repositoryNamed(repo: string, unverifiedId?: number | null): Promise<NamedRepository>
  /** Our identity there: all calls of one identity share a rate limit. */
  identityOf(repository: RepositoryRef): Promise<string>
  /** The identity of the credentials themselves, the same for all repositories. */
  readonly ownIdentity: string
  /**
   * What GitHub's clock showed when ours showed `ourMs`. Null when that is unknown: GitHub has not
   * answered yet, or `ourMs` is in the future.
   */
  githubTimeOf(ourMs: number): number | null
}

/** A token with which a run asks GitHub itself. It is a secret: never stored, never logged. */
export interface NarrowedToken {
  readonly token: string
  /** By GitHub's clock. */
  readonly expiresAt: number
  /** What GitHub granted: what was asked for, and always `metadata: read`. */
  readonly permissions: GitHubPermissions
  /** The only repository that it reaches. */
  readonly repository: NamedRepository
}

/** Until when GitHub wants our identities to wait. All nodes share it. Times are of our clock. */
export interface IdentityBlocks {
  /** Null if the identity need not wait. */
  blockedUntil(identity: string): Promise<number | null>
  /** GitHub set a limit. */
  block(identity: string, until: number): Promise<void>
}

export interface GitHubTokens {
  /**
   * Makes a token for one repository, by GitHub's id, with these permissions and no others. Rejects
   * with GitHubError: `invalid` if the App itself has less. Null if our credentials are the token
   * of an account, because that cannot be narrowed.
   */
  readonly narrowedToken:
    ((repositoryId: number, permissions: GitHubPermissions) => Promise<NarrowedToken>) | null
}

/** A request that the program of a run makes. */
export interface OwnRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: RequestInit['body']
  readonly signal: AbortSignal
}

export interface GitHubRequests {
  /** Without a slash at the end. */
  readonly apiUrl: string
  /**
   * Sends one request about a repository as it is, and returns GitHub's whole answer, whatever its
   * status. It repeats nothing and follows no redirect. `token` is a narrowed one; null sends the
   * token of our own account. Without an answer it rejects with GitHubError, or with the reason of
   * the signal.
   */
  send(repository: RepositoryRef, request: OwnRequest, token: string | null): Promise<Response>
}

/** For finding what was missed: GitHub's record of sent webhooks, and lists of pull requests. */
export interface GitHubListings {
  /** A page of what the App's webhook has sent, newest first; null when we are not an App. */
  hookDeliveries(cursor: string | null): Promise<HookDeliveryPage | null>
  /** What was sent; null when GitHub no longer has it. */
  hookDelivery(id: number): Promise<SentWebhook | null>
  /** Open and closed ones, the last changed first. Pages count from 1. */
  pulls(repository: RepositoryRef, page: number): Promise<PullPage>
  /** Null when there is no such pull request. */
  pull(repository: RepositoryRef, number: number): Promise<ListedPull | null>
}

/** Everything we can do on GitHub with our credentials. */
export type GitHubConnection = GitHub & GitHubCalls & GitHubListings & GitHubTokens & GitHubRequests

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
  /** The whole pull request, as GitHub sends it here and in webhooks. */
  readonly whole: Readonly<Record<string, unknown>>
}
