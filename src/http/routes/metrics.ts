/** What is counted and measured, for whoever watches over the process. */
import { z } from 'zod'
import { anyToken } from '../../operations/reach.ts'
import type { App } from '../app.ts'
import type { HttpDeps } from '../deps.ts'

export function metricsRoutes(app: App, { metricsPage }: HttpDeps): void {
  app.get(
    '/metrics',
    {
      config: { access: { scopes: anyToken } },
      schema: {
        operationId: 'getMetrics',
        tags: ['Server'],
        summary: 'Metrics',
        description: 'Counts and measures of this process, and of the store, for Prometheus.',
        response: {
          200: { description: 'The measures.', content: { 'text/plain': { schema: z.string() } } },
        },
      },
    },
    async (_request, reply) => {
      const text = await metricsPage.text()
      return reply.code(200).type(metricsPage.contentType).send(text)
    },
  )
}
