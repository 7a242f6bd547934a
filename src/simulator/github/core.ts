/**
 * The simulated GitHub itself: a request in, an answer out, and the record of it. What goes wrong
 * on the way is the faults' business; how bytes travel is the connections'.
 *
 * What must hold: a request takes effect at most once, in one synchronous step, and its answer is
 * made in the same step.
 */
import type { Authentication, Identity } from './auth.ts'
import { limitedAs, nameOf } from './auth.ts'
import type { RateLimits } from './rate-limit.ts'
import { answerOf, replyOf } from './answer.ts'
import { notFound, Refusal } from './refusal.ts'
import type { GitHubAnswer, GitHubRequest, ReceivedRequest } from './request.ts'
import type { Reply, Route } from './routes/route.ts'
import type { Match, Router } from './routes/router.ts'
import type { World } from './state/world.ts'

type Writable<T> = { -readonly [K in keyof T]: T[K] }

export interface Reception {
  readonly request: GitHubRequest
  readonly received: Writable<ReceivedRequest>
  /** Whom its limits are counted for. */
  readonly key: string
}

export interface Core {
  readonly requests: readonly ReceivedRequest[]
  /** What a record of this request would say, before it is one. */
  look(request: GitHubRequest): Reception
  /** It has arrived. */
  record(reception: Reception): void
  /** Does what it asks and says what GitHub would answer. */
  perform(reception: Reception, lagMs: number): GitHubAnswer
  /** An answer without having done it. */
  refuse(reception: Reception, refusal: Refusal): GitHubAnswer
}

export interface CoreParts {
  readonly world: World
  readonly router: Router
  readonly authentication: Authentication
  readonly limits: RateLimits
}

export function createCore(parts: CoreParts): Core {
  const { world, router, limits, authentication } = parts
  const requests: ReceivedRequest[] = []

  function replyTo(reception: Reception, match: Match | null, lagMs: number): Reply {
    const { request, key } = reception
    const identity = authentication.identify(request)
    if (match === null) throw notFound()
    const { route, params } = match
    if (route.route !== 'GET /rate_limit') limits.take(key, isContentWrite(route, request))
    const body = parseBody(request)
    return route.handle({ world, limits, request, params, body, identity, lagMs })
  }

  function finish({ received, key }: Reception, reply: Reply): GitHubAnswer {
    Object.assign(received, { status: reply.status, doneAt: world.nowMs() })
    return answerOf(world, reply, limits.headers(key))
  }

  return {
    requests,
    look: (request) => {
      const identity = askerOf(authentication, request)
      const { authorization: _secret, ...headers } = request.headers
      const received = {
        index: requests.length,
        at: world.nowMs(),
        method: request.method,
        path: request.path,
        query: Object.fromEntries(request.query),
        route: router.find(request.method, request.path)?.route.route ?? null,
        headers,
        body: readable(request.body),
        identity: nameOf(identity),
        status: null,
        effect: false,
        doneAt: null,
        fault: null,
      }
      return { request, received, key: limitedAs(identity) }
    },
    record: ({ received }) => void requests.push(received),
    perform: (reception, lagMs) => {
      const { request, received } = reception
      const match = router.find(request.method, request.path)
      const before = world.changes
      world.request = received.index
      try {
        return finish(reception, replyTo(reception, match, lagMs))
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        return finish(reception, replyOf(error, match?.route ?? null))
      } finally {
        world.request = null
        received.effect = world.changes > before
      }
    },
    refuse: (reception, refusal) => {
      const { method, path } = reception.request
      const route = router.find(method, path)?.route ?? null
      return finish(reception, replyOf(refusal, route))
    },
  }
}

/** Whoever cannot prove to be somebody is a stranger. */
function askerOf(authentication: Authentication, request: GitHubRequest): Identity {
  try {
    return authentication.identify(request)
  } catch {
    return { kind: 'stranger' }
  }
}

/** A token is no content: GitHub counts only what people would see. */
const isContentWrite = (route: Route, { method }: GitHubRequest): boolean =>
  method !== 'GET' && !route.route.includes('/access_tokens')

function parseBody({ body }: GitHubRequest): unknown {
  if (body === '') return {}
  const parsed = readable(body)
  if (typeof parsed === 'object' && parsed !== null) return parsed
  const isJson = typeof parsed !== 'string' || body.startsWith('"')
  const message = isJson ? 'Body should be a JSON object' : 'Problems parsing JSON'
  throw new Refusal(400, { message })
}

function readable(body: string): unknown {
  if (body === '') return null
  try {
    return JSON.parse(body) as unknown
  } catch {
    return body
  }
}
