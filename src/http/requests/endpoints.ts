/**
 * The list of the server's endpoints, filled as routes are added. With it, a wrong method on a
 * known path can be told from an unknown path, and tests can try every endpoint.
 */
import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify'
import type { Scope } from '../../operations/caller.ts'
import { nearest } from '../../validation/nearest.ts'
import { HttpProblem } from '../answers/problem.ts'

export interface Endpoint {
  readonly method: string
  readonly url: string
  readonly access: 'public' | readonly Scope[] | undefined
  readonly schema: FastifySchema
}

declare module 'fastify' {
  interface FastifyInstance {
    endpoints: readonly Endpoint[]
  }
}

export function recordEndpoints(server: FastifyInstance): void {
  const endpoints: Endpoint[] = []
  server.decorate('endpoints', endpoints)
  server.addHook('onRoute', ({ method, url, config, schema }) => {
    const access = config?.access === 'public' ? 'public' : config?.access?.scopes
    for (const one of [method].flat()) {
      endpoints.push({ method: one, url, access, schema: schema ?? {} })
    }
  })
}

/**
 * Refuses a request that no route is meant for. A fixed path goes before a pattern:
 * `GET /v1/runs/lease` is a wrong method, not a run with the id "lease".
 */
export function refuseUnknown(server: FastifyInstance, request: FastifyRequest): void {
  const path = request.url.split('?', 1)[0] ?? ''
  const fixed = methodsOf(server, (url) => url === path)
  const allowed =
    fixed.length === 0 && request.is404 ? methodsOf(server, (url) => fits(url, path)) : fixed
  if (allowed.length > 0 && !allowed.includes(request.method)) {
    throw new HttpProblem(405, 'method_not_allowed', `This path takes ${allowed.join(', ')}.`, {
      headers: { allow: allowed.join(', ') },
    })
  }
  if (request.is404) {
    const hint = [meantPath(server, path), 'All paths are at /docs.'].filter(Boolean).join(' ')
    throw new HttpProblem(404, 'not_found', 'This path does not exist.', { hint })
  }
}

function methodsOf(server: FastifyInstance, matches: (url: string) => boolean): string[] {
  return server.endpoints.filter(({ url }) => matches(url)).map(({ method }) => method)
}

/**
 * A question that names the path if only its version is missing or one of its words is misspelt;
 * otherwise empty. It never repeats an id.
 */
function meantPath(server: FastifyInstance, path: string): string {
  const given = path.split('/')
  const meant = server.endpoints.find(
    ({ url }) => fits(url, `/v1${path}`) || isNearly(url.split('/'), given),
  )
  return meant === undefined ? '' : `Did you mean ${meant.url.replaceAll(/:(\w+)/g, '{$1}')}?`
}

function isNearly(wanted: readonly string[], given: readonly string[]): boolean {
  if (wanted.length !== given.length) return false
  const differing = wanted.flatMap((part, at) => {
    const word = given[at] ?? ''
    const isSame = part.startsWith(':') ? word !== '' : part === word
    return isSame ? [] : [[part, word] as const]
  })
  const [[part, word] = ['', '']] = differing
  return differing.length === 1 && !part.startsWith(':') && nearest(word, [part]) !== null
}

function fits(pattern: string, path: string): boolean {
  const wanted = pattern.split('/')
  const given = path.split('/')
  return (
    wanted.length === given.length &&
    wanted.every((part, at) => (part.startsWith(':') ? given[at] !== '' : part === given[at]))
  )
}
