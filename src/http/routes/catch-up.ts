/** Looks for what no webhook told, now and not in a few minutes. */
import { catchUpReport, noFields } from '../../contract.ts'
import { catchUp } from '../../operations/inbox/catch-up.ts'
import { callerOf, type App } from '../app.ts'
import type { HttpDeps } from '../deps.ts'

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
          'Reads what GitHub has sent in the last three days and takes in what never came; then ' +
          'holds open pull requests against the runs there are. A server does it by itself at ' +
          'its start and every five minutes. Asked again, it finds nothing twice.',
        body: noFields,
        response: { 200: catchUpReport },
      },
    },
    async (request, reply) =>
      reply.code(200).send(await catchUp(deps, callerOf(request), request.body)),
  )
}
