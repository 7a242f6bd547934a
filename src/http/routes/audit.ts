/** The audit trail: what happened, to what, by whom; as a list, and as it happens. */
import { z } from 'zod'
import { auditList, auditQuery, auditStreamHeaders, auditStreamQuery } from '../../contract.ts'
import { followAudit } from '../../operations/audit/follow-audit.ts'
import { listAudit } from '../../operations/audit/list-audit.ts'
import { sendNews } from '../answers/event-stream.ts'
import { callerOf, type App } from '../app.ts'
import type { HttpDeps } from '../deps.ts'
import { heldRequest } from '../requests/held-request.ts'

export function auditRoutes(app: App, deps: HttpDeps): void {
  listRoute(app, deps)
  streamRoute(app, deps)
}

function listRoute(app: App, deps: HttpDeps): void {
  app.get(
    '/v1/audit',
    {
      config: { access: listAudit.reach },
      schema: {
        operationId: 'listAudit',
        tags: ['Audit'],
        summary: 'List audit events',
        description: 'What happened to runs, deliveries and tokens, by whom, newest first.',
        querystring: auditQuery,
        response: { 200: auditList },
      },
    },
    async (request, reply) =>
      reply.code(200).send(await listAudit(deps, callerOf(request), request.query)),
  )
}

function streamRoute(app: App, deps: HttpDeps): void {
  app.get(
    '/v1/audit/stream',
    {
      exposeHeadRoute: false,
      config: {
        access: followAudit.reach,
        answers: { 200: 'Events, for as long as the connection lasts.' },
      },
      schema: {
        operationId: 'followAudit',
        tags: ['Audit'],
        summary: 'Follow audit events',
        description:
          'Server-sent events, as they are committed: `id` is the order, `event` the type and ' +
          '`data` an item of the list. Connect again with the last `id`: nothing is lost or ' +
          'repeated. Without an id the stream begins with what happens from now on. At the ' +
          'start, and after every 15 seconds without an event, a `ping` without data gives ' +
          'the id to continue from.',
        querystring: auditStreamQuery,
        headers: auditStreamHeaders,
        response: {
          200: { description: 'Events.', content: { 'text/event-stream': { schema: z.string() } } },
        },
      },
    },
    async (request, reply) => {
      const { after: asked = null, ...query } = request.query
      // A browser that connects again sends the header, to the address it was first given.
      const after = request.headers['last-event-id'] ?? asked
      const { signal } = heldRequest(request, reply, deps)
      const news = await followAudit(deps, callerOf(request), { ...query, after }, { signal })
      return sendNews(reply, news, signal)
    },
  )
}
