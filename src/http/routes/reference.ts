/** The description of this API: as an OpenAPI document, and as a page for people. */
import type { FastifyReply } from 'fastify'
import { z } from 'zod'
import { anyToken } from '../../operations/reach.ts'
import type { App } from '../app.ts'
import { docsPage } from '../docs/docs-page.ts'

export function referenceRoutes(app: App): void {
  app.get(
    '/openapi.json',
    {
      config: { access: { scopes: anyToken, within: 'itself' } },
      schema: {
        operationId: 'getOpenApi',
        tags: ['Server'],
        summary: 'OpenAPI document',
        description: 'This description for programs: OpenAPI 3.1.',
        response: { 200: answerAs('application/json', z.unknown()) },
      },
    },
    (_request, reply) => reply.type('application/json; charset=utf-8').send(app.swagger()),
  )

  app.get(
    '/docs',
    {
      config: { access: { scopes: anyToken, within: 'itself' }, asksForToken: true },
      schema: {
        operationId: 'getDocs',
        tags: ['Server'],
        summary: 'Reference page',
        description:
          'A browser without a token gets the page with status 401, and the page ' +
          'asks for a token.',
        response: { 200: answerAs('text/html', z.string()) },
      },
    },
    (_request, reply) => sendDocs(reply.code(200)),
  )
}

function answerAs(type: string, schema: z.ZodType) {
  return { description: 'The description.', content: { [type]: { schema } } }
}

export function sendDocs(reply: FastifyReply): FastifyReply {
  return reply
    .header('content-security-policy', docsPage.contentSecurityPolicy)
    .header('referrer-policy', 'no-referrer')
    .type('text/html; charset=utf-8')
    .send(docsPage.html)
}
