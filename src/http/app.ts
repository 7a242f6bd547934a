/** The server type of the route files. Its types come from the contract's schemas. */
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
    /** The reach of the route's operation. Without it only the admin can use the route. */
    access?: 'public' | Reach
    /** A browser without a token gets a page that asks for one, instead of a plain 401. */
    asksForToken?: boolean
  }
  interface FastifyRequest {
    /** Null only on public routes. */
    caller: Caller | null
    /** GitHub's GUID, for the log; null on every other route. */
    webhookId: string | null
  }
}

/** The caller of a route that is not public. */
export function callerOf(request: FastifyRequest): Caller {
  if (request.caller === null) throw new Error('a public route asked who is calling')
  return request.caller
}
