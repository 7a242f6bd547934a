/** Looking at runs, and calling one off. */
import type { RunFilter } from '../../store.ts'
import { given, pageView, principalOf, type App } from '../app.ts'
import { auditView } from '../audit-view.ts'
import {
  auditList,
  noFields,
  run,
  runAuditQuery,
  runList,
  runParams,
  runTokenConflicts,
  runsQuery,
  type RunsQuery,
} from '../contract.ts'
import type { HttpDeps } from '../deps.ts'
import { onceOf } from '../idempotency.ts'
import { runPage, runView } from '../run-view.ts'
import { limitsOf } from '../token-reach.ts'

export function runRoutes(app: App, deps: HttpDeps): void {
  listRoutes(app, deps)
  oneRunRoutes(app, deps)
}

function listRoutes(app: App, { runs, store }: HttpDeps): void {
  app.get(
    '/v1/runs',
    {
      config: { access: ['operator', 'worker', 'read'], within: 'itself' },
      schema: {
        operationId: 'listRuns',
        tags: ['Runs'],
        summary: 'List runs',
        description:
          'Newest first; filters narrow each other. A limited token sees what it reaches.',
        querystring: runsQuery,
        response: { 200: runList },
      },
    },
    async (request, reply) => {
      const { limit, cursor = null, issue, task } = request.query
      // No run belongs to an issue or a task yet.
      if (issue !== undefined || task !== undefined) {
        return reply.code(200).send({ items: [], next_cursor: null })
      }
      const page = await runs.list(
        { ...runFilter(request.query), ...given({ within: limitsOf(principalOf(request)) }) },
        { limit, cursor },
      )
      return reply.code(200).send(await runPage(store, page))
    },
  )
}

function runFilter({ repo, pr, state, type, key, head_sha: headSha }: RunsQuery): RunFilter {
  return given({ repo, pr, state, type, key, headSha })
}

function oneRunRoutes(app: App, { runs, store, random }: HttpDeps): void {
  app.get(
    '/v1/runs/:id',
    {
      config: {
        access: ['operator', 'worker', 'read', 'run'],
        within: 'run',
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
    async (request, reply) => {
      return reply.code(200).send(await runView(store, await runs.get(request.params.id)))
    },
  )

  app.get(
    '/v1/runs/:id/audit',
    {
      config: {
        access: ['operator', 'worker', 'read', 'run'],
        within: 'run',
        conflicts: runTokenConflicts,
      },
      schema: {
        operationId: 'listRunAudit',
        tags: ['Runs'],
        summary: 'List the audit of a run',
        description: 'What happened to it, by whom, newest first.',
        params: runParams,
        querystring: runAuditQuery,
        response: { 200: auditList },
      },
    },
    async (request, reply) => {
      const { limit, cursor = null } = request.query
      const { id: runId } = await runs.get(request.params.id)
      const page = await store.audit.list({ runId }, { limit, cursor })
      return reply.code(200).send(pageView(page, auditView))
    },
  )

  app.post(
    '/v1/runs/:id/cancel',
    {
      config: { access: ['operator'], within: 'run', conflicts: ['not_active'] },
      schema: {
        operationId: 'cancelRun',
        tags: ['Runs'],
        summary: 'Cancel a run',
        description: 'It ends now. Its holder is told at its next heartbeat.',
        params: runParams,
        body: noFields,
        response: { 200: run },
      },
    },
    async (request, reply) => {
      const { actor } = principalOf(request)
      const cancelled = await runs.cancel(request.params.id, actor, onceOf(request, random))
      return reply.code(200).send(await runView(store, cancelled))
    },
  )
}
