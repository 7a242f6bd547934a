/**
 * Sends requests to GitHub. Every request is one exchange with one deadline (for connecting, answer
 * and body together), one request id and one line in the log. Octokit's `endpoint` makes address
 * and body from GitHub's route templates. Octokit's own sender is not used: it accepts a redirect
 * as an answer, and reads a body that was cut off as an empty one.
 *
 * What must hold: nothing is repeated, nothing is sent after `sendBy`, and no redirect is followed.
 * Logs and errors contain nothing from headers or bodies.
 */
import { endpoint } from '@octokit/endpoint'
import type { Clock } from '../clock.ts'
import { makeId } from '../ids.ts'
import type { Log } from '../log.ts'
import type { Random } from '../random.ts'
import type { Scheduler } from '../scheduler.ts'
import type { Answer, CallFacts, Trouble } from './errors.ts'
import { GitHubError, trouble, troubleOfAnswer, troubleOfFailure } from './errors.ts'
import { dateOf } from './rate-limit.ts'

/** GitHub itself gives up after the same time. */
export const requestTimeoutDefaultMs = 10_000
export const apiVersion = '2022-11-28'

export interface TransportOptions {
  readonly apiUrl: string
  readonly fetch: typeof globalThis.fetch
  /** For connecting, answer and body together. */
  readonly requestTimeoutMs?: number
  /** Called after every request: `ok`, or the kind of error. */
  readonly onAsked?: (kind: string) => void
  readonly clock: Clock
  readonly scheduler: Scheduler
  readonly random: Random
  readonly log: Log
  readonly version: string
}

export interface ParsedAnswer {
  readonly status: number
  /** With our own id of the request as `x-request-id`. */
  readonly headers: Readonly<Record<string, string>>
  readonly data: unknown
}

/** `route` is method and path template; what is not in its path goes to the query or the body. */
export type Send = (
  route: string,
  parameters: Readonly<Record<string, unknown>>,
  authorization: string | null,
  /** A time on the monotonic clock. Without it, the request may be sent at any time. */
  sendBy: number | undefined,
) => Promise<ParsedAnswer>

export interface Transport {
  readonly send: Send
  /** How far GitHub's clock is ahead of ours, by its last answer; null before the first. */
  clockAheadMs(): number | null
}

interface OutgoingRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

export function createTransport(options: TransportOptions): Transport {
  const { clock, log } = options
  const toRequest = endpoint.defaults({ baseUrl: options.apiUrl.replace(/\/+$/, '') })
  let aheadMs: number | null = null

  const send: Send = async (route, parameters, authorization, sendBy) => {
    const requestId = makeId('req', clock.wallMs(), options.random)
    const startedMs = clock.monotonicMs()
    const headers = authorization === null ? {} : { authorization }
    const outgoing = toRequest(route, { ...parameters, headers }) as OutgoingRequest
    // Checked at the last moment, because getting credentials may have taken long.
    if (startedMs > (sendBy ?? Infinity)) {
      const notSent = { route, status: null, requestId, githubRequestId: null }
      throw new GitHubError(trouble('too_late'), notSent)
    }
    const { answer, failed } = await exchange(options, outgoing, requestId)
    const nowMs = clock.wallMs()
    const theirMs = answer === null ? null : dateOf(answer.headers)
    if (theirMs !== null) aheadMs = theirMs - nowMs
    const facts: CallFacts = {
      route,
      status: answer?.status ?? null,
      requestId,
      githubRequestId: answer?.headers.get('x-github-request-id') ?? null,
    }
    const read = answer === null ? failed : readAnswer(answer, outgoing.url, nowMs)
    options.onAsked?.('kind' in read ? read.kind : 'ok')
    const ms = Math.round(clock.monotonicMs() - startedMs)
    const [method, template] = route.split(' ')
    const asked = { method, route: template, status: facts.status, ms }
    const ids = { requestId, githubRequestId: facts.githubRequestId }
    log.debug({ ...ids, ...asked, ...('kind' in read && { kind: read.kind }) }, 'Request to GitHub')
    if (answer === null || 'kind' in read) throw new GitHubError(read as Trouble, facts)
    const answered = { ...Object.fromEntries(answer.headers), 'x-request-id': requestId }
    return { status: answer.status, headers: answered, data: read.data }
  }

  return { send, clockAheadMs: () => aheadMs }
}

type Exchanged =
  | { readonly answer: Answer; readonly failed: null }
  | { readonly answer: null; readonly failed: Trouble }

async function exchange(
  options: TransportOptions,
  outgoing: OutgoingRequest,
  requestId: string,
): Promise<Exchanged> {
  const deadline = new AbortController()
  const timeoutMs = options.requestTimeoutMs ?? requestTimeoutDefaultMs
  const cancel = options.scheduler.after(timeoutMs, () => deadline.abort())
  try {
    const response = await options.fetch(outgoing.url, {
      method: outgoing.method,
      headers: headersOf(outgoing.headers, options.version, requestId),
      redirect: 'manual',
      signal: deadline.signal,
      ...(outgoing.body !== undefined && { body: JSON.stringify(outgoing.body) }),
    })
    const body = await response.text().catch(() => null)
    return { answer: { status: response.status, headers: response.headers, body }, failed: null }
  } catch (error) {
    return { answer: null, failed: troubleOfFailure(error, deadline.signal.aborted) }
  } finally {
    cancel()
  }
}

function headersOf(
  given: Readonly<Record<string, unknown>>,
  version: string,
  requestId: string,
): Record<string, string> {
  return {
    ...Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)])),
    'user-agent': `holdfast/${version}`,
    'x-github-api-version': apiVersion,
    'x-request-id': requestId,
  }
}

function readAnswer(
  answer: Answer,
  url: string,
  nowMs: number,
): Trouble | { readonly data: unknown } {
  const found = troubleOfAnswer(answer, nowMs)
  if (found?.kind === 'redirected' && !isSamePlace(url, answer.headers.get('location'))) {
    return { ...found, repositoryId: null }
  }
  if (found !== null) return found
  const text = answer.body ?? ''
  if (!/\bjson\b/i.test(answer.headers.get('content-type') ?? '')) return { data: text }
  try {
    return { data: JSON.parse(text) as unknown }
  } catch {
    return trouble('unanswered', { failure: 'unreadable body' })
  }
}

/**
 * A renamed repository keeps the paths below it. An issue that was moved to another repository has
 * another number there, and its old number may belong to another issue.
 */
function isSamePlace(asked: string, location: string | null): boolean {
  const there = /\/repositories\/\d+([^?#]*)/.exec(location ?? '')?.[1]
  const here = /\/repos\/[^/?#]+\/[^/?#]+([^?#]*)/.exec(asked)?.[1]
  return there !== undefined && there === here
}
