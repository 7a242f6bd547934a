/** The server examines itself. */
import { doctorReport } from '../../contract.ts'
import { getDoctorReport } from '../../operations/get-doctor-report.ts'
import { callerOf, type App } from '../app.ts'
import type { HttpDeps } from '../deps.ts'

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
