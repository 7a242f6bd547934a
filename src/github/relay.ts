/**
 * Sends requests that the program of a run makes. They pass unchanged, except that the credentials
 * are ours. Each is one exchange with one deadline, one request id and one line in the log.
 *
 * What must hold: nothing is repeated and no redirect is followed. Logs and errors contain nothing
 * of addresses, headers or bodies, because they are the program's own.
 */
import { makeId } from '../ids.ts'
import type { GitHubRequests, OwnRequest } from '../github.ts'
import type { Credentials } from './credentials/credentials.ts'
import { GitHubError, troubleOfAnswer, troubleOfFailure, type Trouble } from './errors.ts'
import { isGraphql, isGraphqlLimited } from './rate-limit.ts'
import { apiVersion, type TransportOptions } from './transport.ts'

/** Longer than for our own requests, because a program may read large files. */
const timeoutMs = 60_000

/** `ownAccount` is null for an App, whose requests always have a narrowed token. */
export function createRelay(
  options: TransportOptions,
  ownAccount: Credentials | null,
): GitHubRequests['send'] {
  const { clock, log, onAsked } = options
  return async ({ repo }, request, token) => {
    const { method, signal } = request
    const requestId = makeId('req', clock.wallMs(), options.random)
    const startedMs = clock.monotonicMs()
    const authorization = await authorizationOf(ownAccount, token)
    const { answer, failed } = await exchange(options, request, authorization, requestId)
    if (failed !== null) signal.throwIfAborted()
    const kind = answer === null ? failed.kind : await kindOf(answer, request.url, clock.wallMs())
    onAsked?.(kind)
    const status = answer?.status ?? null
    const githubRequestId = answer?.headers.get('x-github-request-id') ?? null
    const ids = { requestId, githubRequestId }
    const ms = Math.round(clock.monotonicMs() - startedMs)
    log.debug({ ...ids, repo, method, status, ms, kind }, 'Request to GitHub for a run')
    if (failed === null) return answer
    throw new GitHubError(failed, { ...ids, route: `${method} for a run`, status })
  }
}

type Exchanged =
  | { readonly answer: Response; readonly failed: null }
  | { readonly answer: null; readonly failed: Trouble }

async function exchange(
  options: TransportOptions,
  { url, method, headers, body, signal }: OwnRequest,
  authorization: string,
  requestId: string,
): Promise<Exchanged> {
  const deadline = new AbortController()
  const cancel = options.scheduler.after(timeoutMs, () => deadline.abort())
  const userAgent = `holdfast/${options.version}`
  const own = { authorization, 'user-agent': userAgent, 'x-request-id': requestId }
  try {
    const response = await options.fetch(url, {
      method,
      headers: { 'x-github-api-version': apiVersion, ...headers, ...own },
      redirect: 'manual',
      signal: AbortSignal.any([deadline.signal, signal]),
      ...(body != null && { body, duplex: 'half' }),
    })
    // Read here, because a body that breaks off would look like a short one later.
    return { answer: withBody(response, await response.arrayBuffer(), url), failed: null }
  } catch (error) {
    return { answer: null, failed: troubleOfFailure(error, deadline.signal.aborted) }
  } finally {
    cancel()
  }
}

/** The same response with a body that has arrived. */
function withBody({ status, headers }: Response, body: ArrayBuffer, url: string): Response {
  const response = new Response(body.byteLength === 0 ? null : body, { status, headers })
  // A response that was not fetched has no address, and Octokit reads it.
  return Object.defineProperty(response, 'url', { value: url })
}

async function kindOf(answer: Response, url: string, nowMs: number): Promise<string> {
  const { status, headers } = answer
  const body = status < 400 && !isGraphql(url) ? '' : await answer.clone().text()
  if (isGraphql(url) && isGraphqlLimited({ status, body })) return 'rate_limited'
  return troubleOfAnswer({ status, headers, body }, nowMs)?.kind ?? 'ok'
}

async function authorizationOf(
  ownAccount: Credentials | null,
  token: string | null,
): Promise<string> {
  if (token !== null) return `Bearer ${token}`
  const authorization = await ownAccount?.authorization('account')
  if (authorization != null) return authorization
  throw new Error('a request for a run needs a narrowed token, because the credentials are an App')
}
