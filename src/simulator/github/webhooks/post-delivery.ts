/**
 * One try to deliver a webhook, as GitHub does it: ten seconds for a 2xx, no redirect is followed,
 * nothing is repeated. Every failure is a result: the promise never rejects, and it resolves in
 * time even if the receiver's promise never does.
 */
import type { Clock } from '../../../clock.ts'
import type { Scheduler } from '../../../scheduler.ts'

export const deliveryDeadlineMs = 10_000

export interface PostDeps {
  readonly fetch: typeof globalThis.fetch
  readonly clock: Clock
  readonly scheduler: Scheduler
}

export interface Post {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface PostOutcome {
  readonly status: string
  readonly statusCode: number
  readonly responseHeaders: Readonly<Record<string, string>>
  readonly responseBody: string
  readonly durationMs: number
}

type Answer = Omit<PostOutcome, 'durationMs'>

export async function postDelivery(deps: PostDeps, post: Post): Promise<PostOutcome> {
  const { clock, scheduler } = deps
  const startedMs = clock.monotonicMs()
  const abort = new AbortController()
  const timeout = Promise.withResolvers<Answer>()
  const cancel = scheduler.after(deliveryDeadlineMs, () => {
    timeout.resolve(unanswered('timed out'))
    abort.abort()
  })
  const answer = await Promise.race([timeout.promise, exchange(deps, post, abort.signal)])
  cancel()
  return { ...answer, durationMs: Math.max(0, clock.monotonicMs() - startedMs) }
}

async function exchange(deps: PostDeps, post: Post, signal: AbortSignal): Promise<Answer> {
  const { url, headers, body } = post
  try {
    const init = { method: 'POST', headers, body, signal, redirect: 'manual' } as const
    const answer = await deps.fetch(url, init)
    return {
      status: answer.ok ? 'OK' : `Invalid HTTP Response: ${answer.status}`,
      statusCode: answer.status,
      responseHeaders: Object.fromEntries(answer.headers),
      responseBody: await answer.text(),
    }
  } catch {
    return unanswered('failed to connect to host')
  }
}

/** What is logged when no answer came. */
export function unanswered(status: string): Answer {
  return { status, statusCode: 0, responseHeaders: {}, responseBody: '' }
}
