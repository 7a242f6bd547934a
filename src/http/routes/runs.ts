/** Reading runs, and cancelling one. */
import {
  auditList,
  noFields,
  run,
  runAuditQuery,
  runList,
  runParams,
  runTokenConflicts,
  runsQuery,
} from '../../contract.ts'
import { cancelRun } from '../../operations/runs/cancel-run.ts'
import { getRun } from '../../operations/runs/get-run.ts'
import { listRunAudit } from '../../operations/runs/list-run-audit.ts'
import { listRuns } from '../../operations/runs/list-runs.ts'
import { callerOf, type App } from '../app.ts'
import type { HttpDeps } from '../deps.ts'
import { onceOf } from '../requests/idempotency.ts'

export function runRoutes(app: App, deps: HttpDeps): void {
  listRoutes(app, deps)
  oneRunRoutes(app, deps)
}

function listRoutes(app: App, deps: HttpDeps): void {
  app.get(
    '/v1/runs',
    {
      config: { access: listRuns.reach },
      schema: {
        operationId: 'listRuns',
        tags: ['Runs'],
        summary: 'List runs',
        description:
          'Newest first. All filters apply together. A limited token sees only runs within ' +
          'its limits.',
        querystring: runsQuery,
        response: { 200: runList },
      },
    },
    async (request, reply) =>
      reply.code(200).send(await listRuns(deps, callerOf(request), request.query)),
  )
}

function oneRunRoutes(app: App, deps: HttpDeps): void {
  const { random } = deps
  app.get(
    '/v1/runs/:id',
    {
      config: {
        access: getRun.reach,
        conflicts: runTokenConflicts,
      },
      schema: {
        operationId: 'getRun',
        tags: ['Runs'],
        summary: 'Get a run',
        params: runParams,
        response: { 200: run },
      },
    },
    async (request, reply) =>
      reply.code(200).send(await getRun(deps, callerOf(request), request.params)),
  )

  app.get(
    '/v1/runs/:id/audit',
    {
      config: {
        access: listRunAudit.reach,
        conflicts: runTokenConflicts,
      },
      schema: {
        operationId: 'listRunAudit',
        tags: ['Runs'],
        summary: 'List the audit events of a run',
        description: 'What happened to it, by whom, newest first.',
        params: runParams,
        querystring: runAuditQuery,
        response: { 200: auditList },
      },
    },
    async (request, reply) => {
      const input = { ...request.params, ...request.query }
      return reply.code(200).send(await listRunAudit(deps, callerOf(request), input))
    },
  )

  app.post(
    '/v1/runs/:id/cancel',
    {
      config: { access: cancelRun.reach, conflicts: ['not_active'] },
      schema: {
        operationId: 'cancelRun',
        tags: ['Runs'],
        summary: 'Cancel a run',
        description: 'It ends now. Its holder learns of it at its next heartbeat.',
        params: runParams,
        body: noFields,
        response: { 200: run },
      },
    },
    async (request, reply) => {
      const once = onceOf(request, random)
      const view = await cancelRun(deps, callerOf(request), request.params, { once })
      return reply.code(200).send(view)
    },
  )
}
