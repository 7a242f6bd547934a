/**
 * The simulated GitHub itself: a request in, an answer out, and the record of it. What goes wrong
 * on the way is the faults' business; how bytes travel is the connections'.
 *
 * What must hold: a request takes effect at most once, in one synchronous step, and its answer is
 * made in the same step.
 */
import type { Authentication, Identity } from './auth.ts'
import { nameOf } from './auth.ts'
import type { RateLimits } from './rate-limit.ts'
import { docsUrl, notFound, Refusal } from './refusal.ts'
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

  function answerOf({ request, key }: Reception, reply: Reply, route: Route | null): GitHubAnswer {
    const text = reply.body === undefined ? '' : JSON.stringify(reply.body)
    return {
      status: reply.status,
      headers: {
        date: new Date(world.githubNowMs()).toUTCString(),
        'x-github-request-id': requestId(world),
        'x-github-media-type': 'github.v3; format=json',
        ...(text !== '' && { 'content-type': 'application/json; charset=utf-8' }),
        ...limits.headers(key),
        ...(route !== null &&
          request.method === 'GET' && { 'cache-control': 'private, max-age=0' }),
        ...reply.headers,
      },
      body: text,
    }
  }

  function refusalReply(refusal: Refusal, route: Route | null): Reply {
    const page = route === null ? docsUrl : `${docsUrl}/${route.docs}`
    const { documentation_url: given, ...body } = refusal.body
    const status = refusal.status === 301 ? {} : { status: String(refusal.status) }
    const documentation_url = given === undefined ? page : given
    return {
      status: refusal.status,
      // A null stands for an answer that names no page.
      body: { ...body, ...(documentation_url !== null && { documentation_url }), ...status },
      headers: refusal.headers,
    }
  }

  function replyTo(reception: Reception, match: Match | null, lagMs: number): Reply {
    const { request, key } = reception
    const identity = authentication.identify(request)
    if (match === null) throw notFound()
    const { route, params } = match
    if (route.route !== 'GET /rate_limit') limits.take(key, isContentWrite(route, request))
    const body = parseBody(request)
    return route.handle({ world, limits, request, params, body, identity, lagMs })
  }

  function finish(reception: Reception, answer: GitHubAnswer): GitHubAnswer {
    Object.assign(reception.received, { status: answer.status, doneAt: world.nowMs() })
    return answer
  }

  return {
    requests,
    look: (request) => {
      const identity = nameOfAsker(authentication, request)
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
        identity,
        status: null,
        effect: false,
        doneAt: null,
        fault: null,
      }
      return { request, received, key: identity ?? 'stranger' }
    },
    record: ({ received }) => void requests.push(received),
    perform: (reception, lagMs) => {
      const { request, received } = reception
      const match = router.find(request.method, request.path)
      const before = world.changes
      world.request = received.index
      try {
        return finish(
          reception,
          answerOf(reception, replyTo(reception, match, lagMs), match?.route ?? null),
        )
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        const reply = refusalReply(error, match?.route ?? null)
        return finish(reception, answerOf(reception, reply, match?.route ?? null))
      } finally {
        world.request = null
        received.effect = world.changes > before
      }
    },
    refuse: (reception, refusal) => {
      const { method, path } = reception.request
      const route = router.find(method, path)?.route ?? null
      return finish(reception, answerOf(reception, refusalReply(refusal, route), route))
    },
  }
}

function nameOfAsker(authentication: Authentication, request: GitHubRequest): string | null {
  try {
    const identity: Identity = authentication.identify(request)
    return nameOf(identity)
  } catch {
    return null
  }
}

/** A token is no content: GitHub counts only what people would see. */
const isContentWrite = (route: Route, { method }: GitHubRequest): boolean =>
  method !== 'GET' && !route.route.includes('/access_tokens')

function parseBody({ body }: GitHubRequest): unknown {
  if (body === '') return {}
  try {
    return JSON.parse(body) as unknown
  } catch {
    throw new Refusal(400, { message: 'Problems parsing JSON' })
  }
}

function readable(body: string): unknown {
  if (body === '') return null
  try {
    return JSON.parse(body) as unknown
  } catch {
    return body
  }
}

function requestId(world: World): string {
  const hex = world.random.bytes(12).toString('hex').toUpperCase()
  return `${hex.slice(0, 4)}:${hex.slice(4, 10)}:${hex.slice(10, 17)}:${hex.slice(17)}`
}
