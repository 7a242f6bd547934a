/** Scoped tokens. Only the admin can create, list and revoke them. */
import {
  createdToken,
  nothing,
  tokenBody,
  tokenList,
  tokenParams,
  tokensQuery,
} from '../../contract.ts'
import { createToken, deleteToken, listTokens } from '../../operations/tokens.ts'
import { callerOf, type App } from '../app.ts'
import type { HttpDeps } from '../deps.ts'
import { onceOf } from '../requests/idempotency.ts'

export function tokenRoutes(app: App, deps: HttpDeps): void {
  const { random, tokenWatch } = deps
  app.post(
    '/v1/tokens',
    {
      config: { access: createToken.reach },
      schema: {
        operationId: 'createToken',
        tags: ['Tokens'],
        summary: 'Create a token',
        description: 'The token is shown only in this answer; the store keeps its hash.',
        body: tokenBody,
        response: { 201: createdToken },
      },
    },
    async (request, reply) => {
      const once = onceOf(request, random)
      const view = await createToken(deps, callerOf(request), request.body, { once })
      return reply.code(201).send(view)
    },
  )

  app.get(
    '/v1/tokens',
    {
      config: { access: listTokens.reach },
      schema: {
        operationId: 'listTokens',
        tags: ['Tokens'],
        summary: 'List tokens',
        querystring: tokensQuery,
        response: { 200: tokenList },
      },
    },
    async (request, reply) =>
      reply.code(200).send(await listTokens(deps, callerOf(request), request.query)),
  )

  app.delete(
    '/v1/tokens/:id',
    {
      config: { access: deleteToken.reach },
      schema: {
        operationId: 'deleteToken',
        tags: ['Tokens'],
        summary: 'Revoke a token',
        description:
          'The token gets 401 from now on. Its open requests end at once, and so do the ' +
          'leases and run tokens obtained with it: their runs are given back.',
        params: tokenParams,
        response: { 204: nothing },
      },
    },
    async (request, reply) => {
      await deleteToken(deps, callerOf(request), request.params)
      tokenWatch.endRequestsOf([request.params.id])
      return reply.code(204).send(null)
    },
  )
}
