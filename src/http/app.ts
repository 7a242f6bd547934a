/** What a file of routes works with: a server whose types come from the contract's schemas. */
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest, RawServerDefault } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Caller } from '../operations/caller.ts'
import type { Reach } from '../operations/reach.ts'

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The reach of its operation. A route without it is closed to all but the admin. */
    access?: 'public' | Reach
    /** A page that asks for the token instead of a bare 401, for browsers. */
    asksForToken?: boolean
  }
  interface FastifyRequest {
    /** Null only on public routes. */
    caller: Caller | null
    /** GitHub's GUID, for the log; null on every other route. */
    webhookId: string | null
  }
}

/** Who asks, on a route that is not public. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error('a public route asked who is calling')
  return request.caller
}
