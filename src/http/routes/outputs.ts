/** What a run publishes while it is worked on: its status, and outputs of its own. */
import {
  holderConflicts,
  ownDelivery,
  ownDeliveryBody,
  ownDeliveryParams,
  runParams,
  statusBody,
  statusReported,
} from '../../contract.ts'
import { publishDelivery, reportRunStatus } from '../../operations/outputs.ts'
import { callerOf, type App } from '../app.ts'
import type { HttpDeps } from '../deps.ts'
import { onceOf } from '../requests/idempotency.ts'

export function outputRoutes(app: App, deps: HttpDeps): void {
  statusRoute(app, deps)
  publishRoute(app, deps)
}

function statusRoute(app: App, deps: HttpDeps): void {
  const { random } = deps
  app.post(
    '/v1/runs/:id/status',
    {
      config: {
        access: reportRunStatus.reach,
        conflicts: [...holderConflicts, 'not_active'],
      },
      schema: {
        operationId: 'reportRunStatus',
        tags: ['Work'],
        summary: 'Report a status',
        description:
          "Says in one line how the work goes. It is soon shown in the run's comment; of " +
          'several reports the last one is always shown. An admin or operator may report ' +
          'without holding the run.',
        params: runParams,
        body: statusBody,
        response: { 200: statusReported },
      },
    },
    async (request, reply) => {
      const once = onceOf(request, random)
      const view = await reportRunStatus(
        deps,
        callerOf(request),
        { ...request.params, ...request.body },
        { once },
      )
      return reply.code(200).send(view)
    },
  )
}

function publishRoute(app: App, deps: HttpDeps): void {
  app.put(
    '/v1/runs/:id/deliveries/:name',
    {
      config: {
        access: publishDelivery.reach,
        conflicts: [...holderConflicts, 'content_differs', 'target_taken'],
        answers: {
          200: 'It was published before; nothing changed.',
          201: 'It will be sent. See how it goes with `GET /v1/deliveries/{id}`.',
        },
      },
      schema: {
        operationId: 'publishDelivery',
        tags: ['Work'],
        summary: 'Publish something of the run',
        description:
          "A comment, status, check run, label or review of the run's own, once per name and " +
          'round, however often you ask. A status, check run or label can get new content ' +
          'under its name, but no other `context` or `label`. Other content for a comment or ' +
          'review is refused. Comments and reviews of one run are sent in the order in which ' +
          'they were published, even if the run is superseded or cancelled before that. The ' +
          "configuration of the run's type (`publish`) says what runs may publish; anything " +
          'else gets 403.',
        params: ownDeliveryParams,
        body: ownDeliveryBody,
        response: { 200: ownDelivery, 201: ownDelivery },
      },
    },
    async (request, reply) => {
      const input = { ...request.params, output: request.body }
      const view = await publishDelivery(deps, callerOf(request), input)
      return reply.code(view.already ? 200 : 201).send(view)
    },
  )
}
