/**
 * The connection inside one process: a `fetch` that reaches the simulated GitHub without a socket,
 * and fails the way the real one does.
 *
 * What must hold: no timer but the scheduler's, so that it works under a virtual clock; whoever
 * aborts is answered at once, while GitHub goes on with what has arrived.
 */
import type { Scheduler } from '../../scheduler.ts'
import type { Receive } from './exchange.ts'
import type { Outcome } from './faults/fault.ts'
import { partsOf } from './parts.ts'
import { readUrl, type GitHubRequest } from './request.ts'

const redirectsMax = 20

export function connectInProcess(receive: Receive, scheduler: Scheduler): typeof globalThis.fetch {
  return async (input, init) => {
    const asked = await readAsked(input, init)
    let { request } = asked
    for (let redirects = 0; redirects <= redirectsMax; redirects++) {
      asked.signal?.throwIfAborted()
      const outcome = await unlessAborted(receive(request), asked.signal)
      const response = responseOf(outcome, scheduler, asked.signal)
      const location = response.headers.get('location')
      const leads = response.status >= 300 && response.status < 400 && location !== null
      if (!leads || asked.redirect === 'manual') return response
      if (asked.redirect === 'error') throw failed(new Error('unexpected redirect'))
      request = followed(request, new URL(location), response.status)
    }
    throw failed(new Error('redirect count exceeded'))
  }
}

interface Asked {
  readonly request: GitHubRequest
  readonly redirect: string
  readonly signal: AbortSignal | undefined
}

async function readAsked(
  input: string | URL | Request,
  init: RequestInit | undefined,
): Promise<Asked> {
  const given = input instanceof Request ? input : null
  const url = new URL(input instanceof Request ? input.url : input)
  const headers = new Headers(init?.headers ?? given?.headers)
  const body = init?.body ?? (given === null ? '' : await given.text())
  return {
    request: {
      ...readUrl(url),
      method: (init?.method ?? given?.method ?? 'GET').toUpperCase(),
      headers: Object.fromEntries(headers),
      // A text is taken as it is; anything else is read the way fetch would send it.
      body: typeof body === 'string' ? body : await new Response(body).text(),
    },
    redirect: init?.redirect ?? given?.redirect ?? 'follow',
    signal: init?.signal ?? given?.signal ?? undefined,
  }
}

/** As fetch does it: a redirected POST arrives as a GET, unless the status forbids. */
function followed(request: GitHubRequest, url: URL, status: number): GitHubRequest {
  const keeps = status === 307 || status === 308
  return { ...request, ...readUrl(url), ...(!keeps && { method: 'GET', body: '' }) }
}

/** A promise that never settles for what never comes: then only the signal can end the wait. */
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
      throw failed(broken())
    case 'refused':
      throw failed(
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
    case 'drip': {
      const { status, headers } = outcome.answer
      return new Response(dripping(outcome, scheduler, signal), { status, headers })
    }
  }
}

function dripping(
  outcome: Outcome & { readonly kind: 'drip' },
  scheduler: Scheduler,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> {
  const parts = partsOf(outcome)
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
        if (outcome.cut) controller.error(new TypeError('terminated', { cause: broken() }))
        else controller.close()
      }
      stop = scheduler.after(outcome.pauseMs, next)
    },
    cancel: () => stop(),
  })
}

const failed = (cause: Error): TypeError => new TypeError('fetch failed', { cause })

/** As undici words it: nothing says whether the request was read. */
const broken = (): Error =>
  Object.assign(new Error('other side closed'), { name: 'SocketError', code: 'UND_ERR_SOCKET' })
