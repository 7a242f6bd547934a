/** Scoped tokens: made, listed and taken away by the admin alone. */
import {
  createdToken,
  nothing,
  tokenBody,
  tokenList,
  tokenParams,
  tokensQuery,
} from '../../contract.ts'
import { createToken } from '../../operations/tokens/create-token.ts'
import { deleteToken } from '../../operations/tokens/delete-token.ts'
import { listTokens } from '../../operations/tokens/list-tokens.ts'
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
      tokenWatch.tell([request.params.id])
      return reply.code(204).send(null)
    },
  )
}
