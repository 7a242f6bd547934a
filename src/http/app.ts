/** What a file of routes works with: a server whose types come from the contract's schemas. */
import type { FastifyBaseLogger, FastifyInstance, FastifyRequest, RawServerDefault } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Principal } from './access/access.ts'

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>

declare module 'fastify' {
  interface FastifyRequest {
    /** Null only on public routes. */
    principal: Principal | null
    /** GitHub's GUID, for the log; null on every other route. */
    webhookId: string | null
  }
}

/** Who asks, on a route that is not public. */
export function principalOf(request: FastifyRequest): Principal {
  if (request.principal === null) throw new Error('a public route asked who is calling')
  return request.principal
}

/** The given filters only: a filter that is absent is not one that is undefined. */
export function given<T extends object>(filter: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(filter).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> }
}
