/** The server examines itself. */
import type { App } from '../app.ts'
import { doctorReport } from '../../contract.ts'
import type { HttpDeps } from '../deps.ts'

export function doctorRoutes(app: App, { doctor }: HttpDeps): void {
  app.get(
    '/v1/doctor',
    {
      config: { access: ['operator', 'read'] },
      schema: {
        operationId: 'getDoctorReport',
        tags: ['Server'],
        summary: 'Examine the server',
        description:
          'Checks configuration, store, runs, webhooks and GitHub, and says how to mend what it ' +
          'finds. Answers 200 also when there is a problem; `ok` tells.',
        response: { 200: doctorReport },
      },
    },
    async (_request, reply) => {
      const { ok, findings } = await doctor()
      return reply.code(200).send({ ok, findings: [...findings] })
    },
  )
}
