/**
 * The connection inside one process: a `fetch` that reaches the simulated GitHub without a socket
 * and fails as the real one does.
 *
 * What must hold: all timers are the scheduler's, so that it works under virtual time. An aborted
 * call ends at once, while GitHub still handles a request that has arrived.
 */
import type { Scheduler } from '../../scheduler.ts'
import type { Receive } from './exchange.ts'
import type { Outcome } from './faults/fault.ts'
import { splitBody } from './split-body.ts'
import { readUrl, type GitHubRequest } from './request.ts'

const redirectsMax = 20

export function connectInProcess(receive: Receive, scheduler: Scheduler): typeof globalThis.fetch {
  return async (input, init) => {
    const call = await readFetchCall(input, init)
    let { request } = call
    for (let redirects = 0; redirects <= redirectsMax; redirects++) {
      call.signal?.throwIfAborted()
      const outcome = await unlessAborted(receive(request), call.signal)
      const response = responseOf(outcome, scheduler, call.signal)
      const location = response.headers.get('location')
      const isRedirect = response.status >= 300 && response.status < 400 && location !== null
      if (!isRedirect || call.redirect === 'manual') return response
      if (call.redirect === 'error') throw fetchFailed(new Error('unexpected redirect'))
      request = followRedirect(request, new URL(location), response.status)
    }
    throw fetchFailed(new Error('redirect count exceeded'))
  }
}

interface FetchCall {
  readonly request: GitHubRequest
  readonly redirect: string
  readonly signal: AbortSignal | undefined
}

async function readFetchCall(
  input: string | URL | Request,
  init: RequestInit | undefined,
): Promise<FetchCall> {
  const given = input instanceof Request ? input : null
  const url = new URL(input instanceof Request ? input.url : input)
  const headers = new Headers(init?.headers ?? given?.headers)
  const body = init?.body ?? (given === null ? '' : await given.text())
  return {
    request: {
      ...readUrl(url),
      method: (init?.method ?? given?.method ?? 'GET').toUpperCase(),
      headers: Object.fromEntries(headers),
      // A string is used as it is; any other body is read the way fetch would send it.
      body: typeof body === 'string' ? body : await new Response(body).text(),
    },
    redirect: init?.redirect ?? given?.redirect ?? 'follow',
    signal: init?.signal ?? given?.signal ?? undefined,
  }
}

/** As fetch does: a redirected POST becomes a GET, except with status 307 and 308. */
function followRedirect(request: GitHubRequest, url: URL, status: number): GitHubRequest {
  const keepsMethod = status === 307 || status === 308
  return { ...request, ...readUrl(url), ...(!keepsMethod && { method: 'GET', body: '' }) }
}

/** If no answer ever comes, the promise stays open and only the signal can end the wait. */
function unlessAborted(
  outcome: Promise<Outcome>,
  signal: AbortSignal | undefined,
): Promise<Exclude<Outcome, { readonly kind: 'hang' }>> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal?.reason as Error)
    signal?.addEventListener('abort', abort, { once: true })
    outcome.then(
      (value) => {
        if (value.kind === 'hang') return
        signal?.removeEventListener('abort', abort)
        resolve(value)
      },
      (error: unknown) => reject(error as Error),
    )
  })
}

function responseOf(
  outcome: Exclude<Outcome, { readonly kind: 'hang' }>,
  scheduler: Scheduler,
  signal: AbortSignal | undefined,
): Response {
  switch (outcome.kind) {
    case 'reset':
      throw fetchFailed(connectionBroken())
    case 'refused':
      throw fetchFailed(
        Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:443'), {
          errno: -111,
          code: 'ECONNREFUSED',
          syscall: 'connect',
          address: '127.0.0.1',
          port: 443,
        }),
      )
    case 'answer': {
      const { status, headers, body } = outcome.answer
      return new Response(body === '' ? null : body, { status, headers })
    }
    case 'slow-body': {
      const { status, headers } = outcome.answer
      return new Response(slowBodyStream(outcome, scheduler, signal), { status, headers })
    }
  }
}

function slowBodyStream(
  outcome: Outcome & { readonly kind: 'slow-body' },
  scheduler: Scheduler,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> {
  const parts = splitBody(outcome)
  let stop = (): void => undefined
  return new ReadableStream<Uint8Array>({
    start: (controller) => {
      const abort = (): void => {
        stop()
        controller.error(signal?.reason)
      }
      signal?.addEventListener('abort', abort, { once: true })
      const next = (): void => {
        const part = parts.shift()
        if (part !== undefined) {
          controller.enqueue(part)
          stop = scheduler.after(outcome.pauseMs, next)
          return
        }
        signal?.removeEventListener('abort', abort)
        if (outcome.cut)
          controller.error(new TypeError('terminated', { cause: connectionBroken() }))
        else controller.close()
      }
      stop = scheduler.after(outcome.pauseMs, next)
    },
    cancel: () => stop(),
  })
}

const fetchFailed = (cause: Error): TypeError => new TypeError('fetch failed', { cause })

/** The error of undici: it does not say whether the request was read. */
const connectionBroken = (): Error =>
  Object.assign(new Error('other side closed'), { name: 'SocketError', code: 'UND_ERR_SOCKET' })
