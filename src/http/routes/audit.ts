/** The audit trail: what happened, to what, by whom. */
import { given, pageView, type App } from '../app.ts'
import { auditView } from '../audit-view.ts'
import { auditList, auditQuery } from '../contract.ts'
import type { HttpDeps } from '../deps.ts'

export function auditRoutes(app: App, { store }: HttpDeps): void {
  app.get(
    '/v1/audit',
    {
      config: { access: ['operator', 'read'] },
      schema: {
        operationId: 'listAudit',
        tags: ['Audit'],
        summary: 'List audit events',
        description: 'What happened to runs and tokens, by whom, newest first.',
        querystring: auditQuery,
        response: { 200: auditList },
      },
    },
    async (request, reply) => {
      const { run: runId, task, delivery, type, since, until, limit, cursor = null } = request.query
      // Nothing was ever written about a task or a delivery yet.
      if (task !== undefined || delivery !== undefined) {
        return reply.code(200).send({ items: [], next_cursor: null })
      }
      const page = await store.listAudit(given({ runId, type, since, until }), { limit, cursor })
      return reply.code(200).send(pageView(page, auditView))
    },
  )
}
