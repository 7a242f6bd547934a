/**
 * The simulated GitHub without faults and connections: it takes a request, records it and makes the
 * answer.
 *
 * What must hold: a request takes effect at most once, in one synchronous step, and its answer is
 * made in the same step.
 */
import type { Authentication, Identity } from './auth.ts'
import { limitKeyOf, identityName } from './auth.ts'
import type { RateLimits } from './rate-limit.ts'
import { answerOf, replyOf } from './answer.ts'
import { notFound, Refusal } from './refusal.ts'
import type { GitHubAnswer, GitHubRequest, ReceivedRequest } from './request.ts'
import type { Reply, Route } from './routes/route.ts'
import type { Match, Router } from './routes/router.ts'
import type { World } from './state/world.ts'

type Writable<T> = { -readonly [K in keyof T]: T[K] }

export interface IncomingRequest {
  readonly request: GitHubRequest
  readonly received: Writable<ReceivedRequest>
  /** The identity that its limits are counted for. */
  readonly key: string
}

export interface Core {
  readonly requests: readonly ReceivedRequest[]
  /** Reads a request without recording it: a fault may still keep it from arriving. */
  read(request: GitHubRequest): IncomingRequest
  /** Records that the request has arrived. */
  record(incoming: IncomingRequest): void
  /** Does what the request asks and returns GitHub's answer. */
  perform(incoming: IncomingRequest, lagMs: number): GitHubAnswer
  /** Returns a refusal without doing anything. */
  refuse(incoming: IncomingRequest, refusal: Refusal): GitHubAnswer
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

  function replyTo(incoming: IncomingRequest, match: Match | null, lagMs: number): Reply {
    const { request, key } = incoming
    const identity = authentication.identify(request)
    if (match === null) throw notFound()
    const { route, params } = match
    if (route.route !== 'GET /rate_limit') limits.count(key, isContentWrite(route, request))
    const body = parseBody(request)
    return route.handle({ world, limits, request, params, body, identity, lagMs })
  }

  function finish({ received, key }: IncomingRequest, reply: Reply): GitHubAnswer {
    Object.assign(received, { status: reply.status, doneAt: world.nowMs() })
    return answerOf(world, reply, limits.headers(key))
  }

  return {
    requests,
    read: (request) => {
      const identity = identityOf(authentication, request)
      const { authorization: _secret, ...headers } = request.headers
      const received = {
        index: requests.length,
        at: world.nowMs(),
        method: request.method,
        path: request.path,
        query: Object.fromEntries(request.query),
        route: router.find(request.method, request.path)?.route.route ?? null,
        headers,
        body: parseIfJson(request.body),
        identity: identityName(identity),
        status: null,
        effect: false,
        doneAt: null,
        fault: null,
      }
      return { request, received, key: limitKeyOf(identity) }
    },
    record: ({ received }) => void requests.push(received),
    perform: (incoming, lagMs) => {
      const { request, received } = incoming
      const match = router.find(request.method, request.path)
      const before = world.changes
      world.request = received.index
      try {
        return finish(incoming, replyTo(incoming, match, lagMs))
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        return finish(incoming, replyOf(error, match?.route ?? null))
      } finally {
        world.request = null
        received.effect = world.changes > before
      }
    },
    refuse: (incoming, refusal) => {
      const { method, path } = incoming.request
      const route = router.find(method, path)?.route ?? null
      return finish(incoming, replyOf(refusal, route))
    },
  }
}

/** A request with bad credentials is recorded as a stranger's. */
function identityOf(authentication: Authentication, request: GitHubRequest): Identity {
  try {
    return authentication.identify(request)
  } catch {
    return { kind: 'stranger' }
  }
}

/** GitHub's content limits count only what people can see, and no tokens. */
const isContentWrite = (route: Route, { method }: GitHubRequest): boolean =>
  method !== 'GET' && !route.route.includes('/access_tokens')

function parseBody({ body }: GitHubRequest): unknown {
  if (body === '') return {}
  const parsed = parseIfJson(body)
  if (typeof parsed === 'object' && parsed !== null) return parsed
  const isJson = typeof parsed !== 'string' || body.startsWith('"')
  const message = isJson ? 'Body should be a JSON object' : 'Problems parsing JSON'
  throw new Refusal(400, { message })
}

function parseIfJson(body: string): unknown {
  if (body === '') return null
  try {
    return JSON.parse(body) as unknown
  } catch {
    return body
  }
}
