/** The audit trail: what happened, to what, by whom; as a list, and as it happens. */
import { z } from 'zod'
import { given, pageView, type App } from '../app.ts'
import { auditView } from '../audit-view.ts'
import { auditList, auditQuery, auditStreamHeaders, auditStreamQuery } from '../contract.ts'
import type { HttpDeps } from '../deps.ts'
import { sendNews } from '../event-stream.ts'
import { heldRequest } from '../gone-signal.ts'

export function auditRoutes(app: App, deps: HttpDeps): void {
  listRoute(app, deps)
  streamRoute(app, deps)
}

function listRoute(app: App, { store }: HttpDeps): void {
  app.get(
    '/v1/audit',
    {
      config: { access: ['operator', 'read'] },
      schema: {
        operationId: 'listAudit',
        tags: ['Audit'],
        summary: 'List audit events',
        description: 'What happened to runs, deliveries and tokens, by whom, newest first.',
        querystring: auditQuery,
        response: { 200: auditList },
      },
    },
    async (request, reply) => {
      const { run: runId, task, delivery: deliveryId, type, since, until } = request.query
      // Nothing was ever written about a task yet.
      if (task !== undefined) return reply.code(200).send({ items: [], next_cursor: null })
      const { limit, cursor = null } = request.query
      const filter = given({ runId, deliveryId, type, since, until })
      const page = await store.audit.list(filter, { limit, cursor })
      return reply.code(200).send(pageView(page, auditView))
    },
  )
}

function streamRoute(app: App, deps: HttpDeps): void {
  const { auditFeed } = deps
  app.get(
    '/v1/audit/stream',
    {
      exposeHeadRoute: false,
      config: {
        access: ['operator', 'read'],
        answers: { 200: 'Events, for as long as the connection lasts.' },
      },
      schema: {
        operationId: 'followAudit',
        tags: ['Audit'],
        summary: 'Follow audit events',
        description:
          'Server-sent events, as they are committed: `id` is the order, `event` the type and ' +
          '`data` an item of the list. Return with the last `id`: nothing is lost or repeated. ' +
          'Without a place it begins with what happens from now on. Every 15 quiet seconds, and ' +
          'at the start, comes an event `ping` without data, with the place to go on from.',
        querystring: auditStreamQuery,
        headers: auditStreamHeaders,
        response: {
          200: { description: 'Events.', content: { 'text/event-stream': { schema: z.string() } } },
        },
      },
    },
    async (request, reply) => {
      const { run: runId, delivery: deliveryId, type, since, until } = request.query
      const { after: asked = null } = request.query
      // A browser that comes again sends the header, to the address it was first given.
      const after = request.headers['last-event-id'] ?? asked
      const { signal: gone } = heldRequest(request, reply, deps)
      const filter = given({ runId, deliveryId, type, since, until })
      return sendNews(reply, await auditFeed.follow({ after, filter, signal: gone }), gone)
    },
  )
}
