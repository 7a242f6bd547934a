/** The inbox: every stored webhook and its outcome; and catch-up for webhooks that were missed. */
import {
  inboxEntry,
  inboxEntryWithBody,
  inboxList,
  inboxParams,
  inboxQuery,
  noFields,
  catchUpReport,
} from '../../contract.ts'
import { catchUp, getInboxEntry, listInbox, replayInboxEntry } from '../../operations/inbox.ts'
import { callerOf, type App } from '../app.ts'
import type { HttpDeps } from '../deps.ts'
import { onceOf } from '../requests/idempotency.ts'

export function inboxRoutes(app: App, deps: HttpDeps): void {
  const { random } = deps
  app.get(
    '/v1/inbox',
    {
      config: { access: listInbox.reach },
      schema: {
        operationId: 'listInbox',
        tags: ['Webhooks'],
        summary: 'List webhooks',
        description: 'What GitHub sent and what it led to, newest first.',
        querystring: inboxQuery,
        response: { 200: inboxList },
      },
    },
    async (request, reply) =>
      reply.code(200).send(await listInbox(deps, callerOf(request), request.query)),
  )

  app.get(
    '/v1/inbox/:id',
    {
      config: { access: getInboxEntry.reach },
      schema: {
        operationId: 'getInboxEntry',
        tags: ['Webhooks'],
        summary: 'Show a webhook',
        description: 'One webhook with its headers and payload, as GitHub sent them.',
        params: inboxParams,
        response: { 200: inboxEntryWithBody },
      },
    },
    async (request, reply) =>
      reply.code(200).send(await getInboxEntry(deps, callerOf(request), request.params)),
  )

  app.post(
    '/v1/inbox/:id/replay',
    {
      config: {
        access: replayInboxEntry.reach,
        answers: { 202: 'It will be processed again, with the current configuration.' },
      },
      schema: {
        operationId: 'replayInboxEntry',
        tags: ['Webhooks'],
        summary: 'Replay a webhook',
        description:
          'Decides a webhook again from its stored body, by the current configuration. A run ' +
          'that already finished is recognised and not started again.',
        params: inboxParams,
        body: noFields,
        response: { 202: inboxEntry },
      },
    },
    async (request, reply) => {
      const once = onceOf(request, random)
      const view = await replayInboxEntry(deps, callerOf(request), request.params, { once })
      return reply.code(202).send(view)
    },
  )
}

export function catchUpRoutes(app: App, deps: HttpDeps): void {
  app.post(
    '/v1/catchup',
    {
      config: { access: catchUp.reach },
      schema: {
        operationId: 'catchUp',
        tags: ['Webhooks'],
        summary: 'Catch up with GitHub',
        description:
          "Reads GitHub's list of webhooks of the last three days and takes in those that did " +
          'not arrive; then compares open pull requests with the existing runs. A server does ' +
          'this at its start and every five minutes. Repeating it is safe.',
        body: noFields,
        response: { 200: catchUpReport },
      },
    },
    async (request, reply) =>
      reply.code(200).send(await catchUp(deps, callerOf(request), request.body)),
  )
}
