/**
 * How a call to GitHub can fail, by what happens next: whether it may be repeated, when, and
 * whether GitHub may have done it already.
 *
 * What must hold: the status code and the fields decide (rate-limit.ts has the one exception). An
 * error has no cause and no text from GitHub, because both may contain a token or somebody's text.
 */
import { HoldfastError } from '../errors.ts'
import { askedUntil, isLimited, limitedUntil } from './rate-limit.ts'

/** GitHub's answer. `body` is null if it did not arrive completely. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: string | null
}

/**
 * - `too_late`: its time was over before it was sent. Nothing was sent.
 * - `network`: the connection never opened, so nothing was done. Safe to repeat.
 * - `unanswered`: a timeout, a reset, a 5xx or an unreadable answer. GitHub may have done it.
 * - `rate_limited`: nothing was done. Send nothing before `until`.
 * - `unauthorized`: the credentials are refused.
 * - `forbidden`: the credentials do not allow it.
 * - `not_found`: it does not exist, or these credentials may not see it.
 * - `not_installed`: the App is not installed there.
 * - `gone`, `conflict`: the current state on GitHub does not allow it.
 * - `redirected`: the repository has another name. A redirect is never followed.
 * - `invalid`: GitHub refuses the call for any other reason.
 */
export type GitHubErrorKind =
  | 'too_late'
  | 'network'
  | 'unanswered'
  | 'rate_limited'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'not_installed'
  | 'gone'
  | 'conflict'
  | 'redirected'
  | 'invalid'

export interface Trouble {
  readonly kind: GitHubErrorKind
  /** Not before this time of our clock; null if GitHub asks for no wait. */
  readonly until: number | null
  /** The repository that a redirect leads to, if the redirect names its id. */
  readonly repositoryId: number | null
  /**
   * A 422 that does not say what is wrong. GitHub also answers like this if requests come too fast
   * ("validation failed, or the endpoint has been spammed").
   */
  readonly unclear: boolean
  /** Short name of what broke, such as ECONNREFUSED; null when GitHub answered. */
  readonly failure: string | null
}

export interface CallFacts {
  /** Method and path template, such as `GET /repos/{owner}/{repo}`. */
  readonly route: string
  /** Null when no answer came. */
  readonly status: number | null
  /** Our id of the request, sent as `x-request-id`. */
  readonly requestId: string
  readonly githubRequestId: string | null
}

export class GitHubError extends HoldfastError {
  readonly kind: GitHubErrorKind
  readonly until: number | null
  readonly repositoryId: number | null
  readonly unclear: boolean
  readonly failure: string | null
  readonly route: string
  readonly status: number | null
  readonly requestId: string
  readonly githubRequestId: string | null

  constructor(trouble: Trouble, facts: CallFacts) {
    super(`github_${trouble.kind}`, messageOf(trouble, facts))
    this.kind = trouble.kind
    this.until = trouble.until
    this.repositoryId = trouble.repositoryId
    this.unclear = trouble.unclear
    this.failure = trouble.failure
    this.route = facts.route
    this.status = facts.status
    this.requestId = facts.requestId
    this.githubRequestId = facts.githubRequestId
  }
}

export function isGitHubError(
  error: unknown,
  ...kinds: readonly GitHubErrorKind[]
): error is GitHubError {
  return error instanceof GitHubError && kinds.includes(error.kind)
}

export function trouble(kind: GitHubErrorKind, more: Partial<Trouble> = {}): Trouble {
  return { kind, until: null, repositoryId: null, unclear: false, failure: null, ...more }
}

/** Returns null for a 2xx that arrived completely. */
export function troubleOfAnswer(answer: Answer, nowMs: number): Trouble | null {
  const { status, headers, body } = answer
  if (isLimited(answer)) return trouble('rate_limited', { until: limitedUntil(headers, nowMs) })
  if (status >= 300 && status < 400) {
    return trouble('redirected', { repositoryId: repositoryIdOf(headers.get('location')) })
  }
  // The missing part of the body might be the sign of a limit.
  if (body === null) return trouble('unanswered', { failure: 'body cut off' })
  if (status >= 200 && status < 300) return null
  const kind = kindOfStatus(status)
  return trouble(kind, {
    until: kind === 'unanswered' ? askedUntil(headers, nowMs) : null,
    unclear: status === 422 && namesNoField(body),
  })
}

/** For an error of the connection: no answer came. */
export function troubleOfFailure(error: unknown, timedOut: boolean): Trouble {
  if (timedOut) return trouble('unanswered', { failure: 'timeout' })
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  return trouble(neverOpened(cause) ? 'network' : 'unanswered', {
    failure: codeOf(cause) ?? 'connection lost',
  })
}

/**
 * GitHub's codes name a field and what is wrong with it. `custom` without a field names neither;
 * only the text for people says more.
 */
function namesNoField(body: string): boolean {
  try {
    const { errors } = JSON.parse(body) as { readonly errors?: unknown }
    return Array.isArray(errors) && errors.length > 0 && errors.every(isCustom)
  } catch {
    return false
  }
}

function isCustom(error: unknown): boolean {
  const { code, field } = (error ?? {}) as { readonly code?: unknown; readonly field?: unknown }
  return code === 'custom' && (field === undefined || field === null)
}

function kindOfStatus(status: number): GitHubErrorKind {
  switch (status) {
    case 401:
      return 'unauthorized'
    case 403:
    case 451: // Withheld for legal reasons.
      return 'forbidden'
    case 404:
      return 'not_found'
    // The server gave up waiting for a request that it may have read.
    case 408:
      return 'unanswered'
    case 409:
      return 'conflict'
    case 410:
      return 'gone'
    default:
      return status >= 400 && status < 500 ? 'invalid' : 'unanswered'
  }
}

/** Only the id is taken from the address, because the address itself cannot be trusted. */
function repositoryIdOf(location: string | null): number | null {
  const id = /\/repositories\/(\d{1,15})(?:[/?#]|$)/.exec(location ?? '')?.[1]
  return id === undefined ? null : Number(id)
}

const beforeSending = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  // The certificate is checked before the first byte of a request.
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** Only certain cases. A reset may come after GitHub has read the request. */
function neverOpened(error: unknown): boolean {
  if (error instanceof AggregateError) {
    return error.errors.length > 0 && error.errors.every(neverOpened)
  }
  if (!(error instanceof Error)) return false
  const { syscall } = error as NodeJS.ErrnoException
  if (syscall === 'connect' || syscall === 'getaddrinfo') return true
  return beforeSending.has(codeOf(error) ?? '')
}

function codeOf(error: unknown): string | null {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined
  return typeof code === 'string' && /^[A-Z0-9_]{1,60}$/.test(code) ? code : null
}

function messageOf({ kind, failure }: Trouble, { route, status }: CallFacts): string {
  if (kind === 'too_late') return `${route}: not sent, because its time was over`
  if (kind === 'network') return `${route}: no connection to GitHub (${failure ?? 'unknown'})`
  if (kind === 'not_installed') return `${route}: the GitHub App is not installed there`
  const answer = status === null ? 'no answer from GitHub' : `GitHub answered ${status}`
  return failure === null ? `${route}: ${answer}` : `${route}: ${answer} (${failure})`
}
