/**
 * The way from the GitHub client of a run to GitHub: a `fetch` for Octokit.
 *
 * What must hold:
 * - Nothing is sent after the run was lost, without a live lease, or while GitHub wants our
 *   identity to wait.
 * - The token goes to the API's own host and nowhere else. The caller never sees it.
 * - Only a GET or HEAD is redirected, and only within that host.
 * - A refused token is replaced once. Nothing else is repeated.
 * - A used up quota of GraphQL stops the GraphQL of this client, and nothing else.
 */
import type { Clock } from '../clock.ts'
import { ConflictError, GitHubUnavailableError } from '../errors.ts'
import type { GitHubPermissions } from '../domain/github-permissions.ts'
import type {
  GitHubCalls,
  GitHubRequests,
  GitHubTokens,
  IdentityBlocks,
  OwnRequest,
  RepositoryRef,
} from '../github.ts'
import { GitHubError, isGitHubError } from './errors.ts'
import { isGraphql, isGraphqlLimited, isLimited, limitedUntil } from './rate-limit.ts'
import { RunToken } from './run-token.ts'
import { limited, tokenProblem } from './token-problem.ts'

export interface RunFetchOptions {
  readonly connection: GitHubRequests &
    GitHubTokens &
    Pick<GitHubCalls, 'identityOf' | 'ownIdentity' | 'repositoryNamed' | 'githubTimeOf'>
  readonly repository: RepositoryRef
  /** The run's type, for error messages. */
  readonly type: string
  readonly permissions: GitHubPermissions
  /** Aborts when the run is lost or stopped. */
  readonly signal: AbortSignal
  /** Throws after the run was lost, or has ended. */
  readonly checkHeld: () => void
  /** The same after the lease is live by the monotonic clock: it may be renewed first. */
  readonly ensureLive: () => Promise<void>
  readonly blocks: IdentityBlocks
  readonly clock: Clock
}

/** What Octokit passes to its `fetch`. */
export interface FetchInit {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: RequestInit['body']
  readonly redirect?: string
  readonly signal?: AbortSignal | null
}

export type RunFetch = (url: string, init?: FetchInit) => Promise<Response>

const redirectsMax = 5

export function createRunFetch(options: RunFetchOptions): RunFetch {
  const sender = new Sender(options)
  return async (url, init = {}) => {
    const request = requestOf(url, init, options.signal)
    let answer = await sender.send(request)
    for (let redirects = 0; redirects < redirectsMax; redirects++) {
      const next = init.redirect === 'manual' ? null : redirectOf(answer, request)
      if (next === null) break
      answer = await sender.send({ ...request, url: next })
    }
    return answer
  }
}

function requestOf(url: string, init: FetchInit, signal: AbortSignal): OwnRequest {
  return {
    url,
    method: init.method ?? 'GET',
    headers: init.headers ?? {},
    body: init.body,
    signal: init.signal == null ? signal : AbortSignal.any([signal, init.signal]),
  }
}

/** Where to ask next; null if it leads to another host, or would repeat a write. */
function redirectOf({ status, headers }: Response, { method, url }: OwnRequest): string | null {
  if (![301, 302, 303, 307, 308].includes(status)) return null
  const next = URL.parse(headers.get('location') ?? '', url)
  const isFollowed = (method === 'GET' || method === 'HEAD') && next?.origin === originOf(url)
  return isFollowed ? next.href : null
}

const originOf = (url: string): string | null => URL.parse(url)?.origin ?? null

class Sender {
  readonly #options: RunFetchOptions
  readonly #token: RunToken
  #repositoryId: number | null
  /** By the wall clock: before this no request to GraphQL is sent. */
  #graphqlFrom = 0

  constructor(options: RunFetchOptions) {
    this.#options = options
    this.#token = new RunToken(options)
    this.#repositoryId = options.repository.repoGithubId
  }

  async send(request: OwnRequest): Promise<Response> {
    const { apiUrl } = this.#options.connection
    const host = originOf(apiUrl)
    if (host === null || originOf(request.url) !== host) throw otherHost(apiUrl)
    try {
      // Making a token is not the run's own request, so it goes on for others who wait for it.
      return await unlessAborted(this.#send(request), request.signal)
    } catch (error) {
      if (error instanceof GitHubUnavailableError && error.code === 'github_limited') {
        return refusalResponse(429, error, error.retryAfterMs)
      }
      if (error instanceof ConflictError && error.code === 'github_refused') {
        return refusalResponse(403, error)
      }
      throw error
    }
  }

  async #send(request: OwnRequest): Promise<Response> {
    if (!isGraphql(request.url)) return await this.#sendInTurn(request)
    const waitMs = this.#graphqlFrom - this.#options.clock.wallMs()
    if (waitMs > 0) throw limited(waitMs)
    const answer = await this.#sendInTurn(request)
    await this.#noteGraphqlLimit(answer)
    return answer
  }

  async #sendInTurn(request: OwnRequest): Promise<Response> {
    const identity = await this.#enter()
    const first = await this.#currentToken(identity)
    const answer = await this.#sendWith(request, first)
    const isRepeated = answer.status === 401 && first !== null && isReadTwice(request.body)
    if (!isRepeated) return await this.#noteLimit(answer, identity)
    this.#token.forget(first)
    const second = await this.#currentToken(identity)
    return await this.#noteLimit(await this.#sendWith(request, second), identity)
  }

  /** Returns our identity in the repository, if GitHub does not want us to wait. */
  async #enter(): Promise<string> {
    const { connection, repository } = this.#options
    const { ownIdentity } = connection
    await this.#checkNotBlocked(ownIdentity)
    const identity = await this.#ask(ownIdentity, () => connection.identityOf(repository))
    if (identity !== ownIdentity) await this.#checkNotBlocked(identity)
    return identity
  }

  /** Null if our credentials cannot be narrowed. Then requests are sent with our own. */
  async #currentToken(identity: string): Promise<string | null> {
    const { connection, repository } = this.#options
    const { narrowedToken, ownIdentity } = connection
    if (narrowedToken === null) return null
    this.#repositoryId ??= await this.#ask(identity, async () => {
      return (await connection.repositoryNamed(repository.repo)).githubId
    })
    const id = this.#repositoryId
    return await this.#ask(ownIdentity, () => this.#token.current(narrowedToken, id))
  }

  /**
   * Checked at the last moment, because getting a token may have taken long, and the process may
   * have been stopped meanwhile for longer than its lease.
   */
  async #sendWith(request: OwnRequest, token: string | null): Promise<Response> {
    const { connection, repository, ensureLive } = this.#options
    await ensureLive()
    request.signal.throwIfAborted()
    return await connection.send(repository, request, token)
  }

  /** A question of our own, asked as this identity. */
  async #ask<T>(identity: string, question: () => Promise<T>): Promise<T> {
    const { repository, type, permissions, blocks, clock } = this.#options
    try {
      return await question()
    } catch (error) {
      if (!(error instanceof GitHubError)) throw error
      if (isGitHubError(error, 'rate_limited') && error.until !== null) {
        await blocks.block(identity, error.until)
      }
      const asked = { repo: repository.repo, type, permissions }
      throw tokenProblem(error, asked, clock.wallMs())
    }
  }

  async #checkNotBlocked(identity: string): Promise<void> {
    const { blocks, clock } = this.#options
    const until = await blocks.blockedUntil(identity)
    if (until !== null) throw limited(until - clock.wallMs())
  }

  async #noteGraphqlLimit(answer: Response): Promise<void> {
    const { status, headers } = answer
    const body = await answer.clone().text()
    const isUsedUp = isOfAnotherQuota(headers) && isLimited({ status, headers, body })
    if (!isUsedUp && !isGraphqlLimited({ status, body })) return
    this.#graphqlFrom = limitedUntil(headers, this.#options.clock.wallMs())
  }

  async #noteLimit(answer: Response, identity: string): Promise<Response> {
    const { blocks, clock } = this.#options
    const { status, headers } = answer
    if (status < 400 || status >= 500 || isOfAnotherQuota(headers)) return answer
    const body = await answer.clone().text()
    if (isLimited({ status, headers, body })) {
      await blocks.block(identity, limitedUntil(headers, clock.wallMs()))
    }
    return answer
  }
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

/** The search, for example, has a small quota of its own. It says nothing about other requests. */
function isOfAnotherQuota(headers: Headers): boolean {
  const resource = headers.get('x-ratelimit-resource')
  const isUsedUp = headers.get('x-ratelimit-remaining') === '0'
  return isUsedUp && resource !== null && resource !== 'core'
}

/** A stream can be sent only once. */
const isReadTwice = (body: OwnRequest['body']): boolean =>
  body == null || typeof body === 'string' || body instanceof Uint8Array

/** Like an answer of GitHub, so that a program handles both in one way. */
function refusalResponse(status: number, error: Error, retryAfterMs?: number): Response {
  const { hint = '' } = error as { readonly hint?: string | undefined }
  const headers = new Headers({ 'content-type': 'application/json; charset=utf-8' })
  if (retryAfterMs !== undefined) {
    headers.set('retry-after', String(Math.max(1, Math.ceil(retryAfterMs / 1000))))
  }
  const message = `${error.message} ${hint}`.trim()
  return new Response(JSON.stringify({ message }), { status, headers })
}

function otherHost(apiUrl: string): Error {
  return new Error(`run.github asks only ${apiUrl}, because its token must not go anywhere else`)
}
