/** The state of the server: whether it is alive and ready, its metrics, and the doctor's report. */
import { type App, callerOf } from '../app.ts'
import { health, doctorReport } from '../../contract.ts'
import type { HttpDeps } from '../deps.ts'
import { HttpProblem } from '../answers/problem.ts'
import { z } from 'zod'
import { anyToken } from '../../operations/reach.ts'
import { getDoctorReport } from '../../operations/doctor.ts'

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

export function doctorRoutes(app: App, deps: HttpDeps): void {
  app.get(
    '/v1/doctor',
    {
      config: { access: getDoctorReport.reach },
      schema: {
        operationId: 'getDoctorReport',
        tags: ['Server'],
        summary: 'Examine the server',
        description:
          'Checks configuration, store, runs, webhooks and GitHub, and says how to fix each ' +
          'problem. The status is 200 even if there is a problem; see `ok`.',
        response: { 200: doctorReport },
      },
    },
    async (request, reply) =>
      reply.code(200).send(await getDoctorReport(deps, callerOf(request), undefined)),
  )
}
