/** For the one who runs the process: is it alive, can it serve. */
import type { App } from '../app.ts'
import { health } from '../../contract.ts'
import type { HttpDeps } from '../deps.ts'
import { HttpProblem } from '../answers/problem.ts'

export function healthRoutes(app: App, { store, readiness }: HttpDeps): void {
  app.get(
    '/healthz',
    {
      config: { access: 'public' },
      schema: {
        operationId: 'getHealth',
        tags: ['Server'],
        summary: 'Health',
        description: 'Whether the process is alive. Needs no token.',
        response: { 200: health },
      },
    },
    async (_request, reply) => reply.code(200).send({ status: 'ok' }),
  )

  app.get(
    '/readyz',
    {
      config: { access: 'public' },
      schema: {
        operationId: 'getReadiness',
        tags: ['Server'],
        summary: 'Readiness',
        description: 'Whether it can serve: the store answers. Needs no token.',
        response: { 200: health },
      },
    },
    async (request, reply) => {
      try {
        await Promise.all([store.ping(), readiness?.()])
      } catch (error) {
        request.log.warn({ err: error }, 'Not ready: the database or the queue does not answer')
        throw new HttpProblem(503, 'not_ready', 'The store or the queue does not answer now.', {
          headers: { 'retry-after': '1' },
        })
      }
      return reply.code(200).send({ status: 'ok' })
    },
  )
}
