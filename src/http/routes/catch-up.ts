/** Looks now, instead of in a few minutes, for webhooks that never came. */
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
          "Reads GitHub's list of webhooks of the last three days and takes in those that did " +
          'not arrive; then compares open pull requests with the existing runs. A server does ' +
          'this at its start and every five minutes. Repeating it is safe.',
        body: noFields,
        response: { 200: catchUpReport },
      },
    },
    async (request, reply) =>
      reply.code(200).send(await catchUp(deps, callerOf(request), request.body)),
  )
}
