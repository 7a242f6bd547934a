/** Scoped tokens: made, listed and taken away by the admin alone. */
import { makeSecret, scopedToken } from '../../secrets.ts'
import { pageView, principalOf, type App } from '../app.ts'
import {
  createdToken,
  nothing,
  tokenBody,
  tokenList,
  tokenParams,
  tokensQuery,
} from '../contract.ts'
import type { HttpDeps } from '../deps.ts'
import { onceOf } from '../idempotency.ts'
import { newTokenOf, tokenView } from '../token-view.ts'

export function tokenRoutes(app: App, { store, random, tokenWatch }: HttpDeps): void {
  app.post(
    '/v1/tokens',
    {
      config: { access: [] },
      schema: {
        operationId: 'createToken',
        tags: ['Tokens'],
        summary: 'Create a token',
        description: 'The token is in this answer and nowhere else; only its hash is kept.',
        body: tokenBody,
        response: { 201: createdToken },
      },
    },
    async (request, reply) => {
      const { actor } = principalOf(request)
      const wanted = { ...newTokenOf(request.body), secret: makeSecret(random), actor }
      const { token, secret } = await store.tokens.create(wanted, onceOf(request, random) ?? null)
      return reply.code(201).send({ id: token.id, token: scopedToken(token.id, secret) })
    },
  )

  app.get(
    '/v1/tokens',
    {
      config: { access: [] },
      schema: {
        operationId: 'listTokens',
        tags: ['Tokens'],
        summary: 'List tokens',
        querystring: tokensQuery,
        response: { 200: tokenList },
      },
    },
    async (request, reply) => {
      const { limit, cursor = null } = request.query
      const page = await store.tokens.list({ limit, cursor })
      return reply.code(200).send(pageView(page, tokenView))
    },
  )

  app.delete(
    '/v1/tokens/:id',
    {
      config: { access: [] },
      schema: {
        operationId: 'deleteToken',
        tags: ['Tokens'],
        summary: 'Revoke a token',
        description:
          'From now on it is 401 everywhere. What it holds open ends at once, and so do the ' +
          'leases and run tokens obtained with it: their runs are given back.',
        params: tokenParams,
        response: { 204: nothing },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      await store.tokens.revoke(id, principalOf(request).actor)
      tokenWatch.tell([id])
      return reply.code(204).send(null)
    },
  )
}
