/** The state of the server: whether it is alive and ready, its metrics, and the doctor's report. */
import { type App, callerOf } from '../app.ts'
import { health, doctorReport, readiness } from '../../contract.ts'
import type { HttpDeps } from '../deps.ts'
import { HttpProblem } from '../answers/problem.ts'
import { z } from 'zod'
import { anyToken } from '../../operations/reach.ts'
import { getDoctorReport } from '../../operations/doctor.ts'
import { within } from '../../scheduler.ts'

/** Those who ask whether we are ready often wait for one second only. */
const queueMsMax = 500

export function healthRoutes(app: App, { store, queueHealth, scheduler }: HttpDeps): void {
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
        description:
          'Whether it can serve: the store answers. If the queue cannot be used, it still ' +
          'serves, and says so. Needs no token.',
        response: { 200: readiness },
      },
    },
    async (request, reply) => {
      const queue = within(scheduler, queueMsMax, queueHealth(), null)
      try {
        await store.ping()
      } catch (error) {
        request.log.warn({ err: error }, 'Not ready: the database does not answer')
        throw new HttpProblem(503, 'not_ready', 'The store does not answer now.', {
          headers: { 'retry-after': '1' },
        })
      }
      const hasQueue = (await queue)?.ok === true
      return reply.code(200).send({
        status: hasQueue ? 'ok' : 'degraded',
        store: 'ok',
        queue: hasQueue ? 'ok' : 'away',
      })
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
          'Checks configuration, store, queue, runs, webhooks and GitHub, and says how to fix ' +
          'each problem. The status is 200 even if there is a problem; see `ok`.',
        response: { 200: doctorReport },
      },
    },
    async (request, reply) =>
      reply.code(200).send(await getDoctorReport(deps, callerOf(request), undefined)),
  )
}
