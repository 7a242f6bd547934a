/** The inbox: every webhook that was taken, and what became of it. */
import { given, pageView, principalOf, type App } from '../app.ts'
import {
  inboxEntry,
  inboxEntryWithBody,
  inboxList,
  inboxParams,
  inboxQuery,
  noFields,
} from '../contract.ts'
import type { HttpDeps } from '../deps.ts'
import { onceOf } from '../idempotency.ts'
import { inboxEntryOf, inboxView } from '../inbox-view.ts'

export function inboxRoutes(app: App, { store, intake, random }: HttpDeps): void {
  app.get(
    '/v1/inbox',
    {
      config: { access: ['operator', 'read'] },
      schema: {
        operationId: 'listInbox',
        tags: ['Webhooks'],
        summary: 'List webhooks',
        description: 'What GitHub sent and what became of it, newest first.',
        querystring: inboxQuery,
        response: { 200: inboxList },
      },
    },
    async (request, reply) => {
      const { webhook_id: webhookId, limit, cursor = null, ...rest } = request.query
      const page = await store.inbox.list(given({ ...rest, webhookId }), { limit, cursor })
      return reply.code(200).send(pageView(page, inboxView))
    },
  )

  app.get(
    '/v1/inbox/:id',
    {
      config: { access: ['operator', 'read'] },
      schema: {
        operationId: 'getInboxEntry',
        tags: ['Webhooks'],
        summary: 'Show a webhook',
        description: 'One webhook with its headers and payload, as GitHub sent them.',
        params: inboxParams,
        response: { 200: inboxEntryWithBody },
      },
    },
    async (request, reply) => {
      return reply.code(200).send(await inboxEntryOf(store, request.params.id))
    },
  )

  app.post(
    '/v1/inbox/:id/replay',
    {
      config: {
        access: ['operator'],
        answers: { 202: 'It is decided again, by the rules of now.' },
      },
      schema: {
        operationId: 'replayInboxEntry',
        tags: ['Webhooks'],
        summary: 'Replay a webhook',
        description:
          'Has a webhook decided again from its stored body, by the configuration of now. What ' +
          'it already led to is recognised: a replay starts no second run for a finished one.',
        params: inboxParams,
        body: noFields,
        response: { 202: inboxEntry },
      },
    },
    async (request, reply) => {
      const { actor } = principalOf(request)
      const entry = await intake.replay(request.params.id, actor, onceOf(request, random))
      return reply.code(202).send(inboxView(entry))
    },
  )
}
