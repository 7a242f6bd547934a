/** The refusal of a token that is right but reaches too little: what would do, and what it is. */
import type { FastifyRequest } from 'fastify'
import type { Principal } from './access.ts'
import { HttpProblem } from '../answers/problem.ts'

export function forbidden(principal: Principal, request: FastifyRequest): HttpProblem {
  const { access } = request.routeOptions.config
  const scopes = access === undefined || access === 'public' ? [] : access
  if (principal.kind === 'run' && scopes.includes('run')) {
    return new HttpProblem(403, 'forbidden', 'A run token reaches only its own run.')
  }
  const wanted = ['admin', ...scopes.filter((scope) => scope !== 'run')]
  const held = principal.kind === 'token' ? `has the scope ${principal.scope}` : 'is a run token'
  const listed = wanted.join(', ').replace(/, ([^,]*)$/, ' or $1')
  return new HttpProblem(
    403,
    'forbidden',
    `This takes a token of the scope ${listed}; yours ${held}.`,
    { hint: 'An admin makes tokens: holdfast token create --scope SCOPE, or POST /v1/tokens.' },
  )
}
