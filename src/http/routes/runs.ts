/** Runs: claim, list, show, cancel and rerun. */
import {
  auditList,
  noFields,
  run,
  runAuditQuery,
  runList,
  runParams,
  runTokenConflicts,
  runsQuery,
  claimBody,
  claimed,
} from '../../contract.ts'
import { claimRun } from '../../operations/claim-run.ts'
import { cancelRun, getRun, listRunAudit, listRuns, rerunRun } from '../../operations/runs.ts'
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

/** Both routes ask for work, and the answer is a decision. */
export function claimRoutes(app: App, deps: HttpDeps): void {
  const { random } = deps
  app.post(
    '/v1/runs',
    {
      config: {
        access: claimRun.reach,
        conflicts: ['key_conflict', 'not_current'],
        answers: {
          200: 'Not yours to process; `reason` says why.',
          201: 'Process it: you hold the lease, unless `lease` is false.',
        },
      },
      schema: {
        operationId: 'claimRun',
        tags: ['Runs'],
        summary: 'Claim a run',
        description:
          'Decides once whether this event leads to work. Of all claims for one pair of ' +
          'commits, or one key, exactly one gets 201, however many programs ask at once.',
        body: claimBody,
        response: { 200: claimed, 201: claimed },
      },
    },
    async (request, reply) => {
      const view = await claimRun(deps, callerOf(request), request.body, {
        once: onceOf(request, random),
      })
      return reply.code(view.should_process ? 201 : 200).send(view)
    },
  )

  app.post(
    '/v1/runs/:id/rerun',
    {
      config: {
        access: rerunRun.reach,
        conflicts: ['not_current'],
        answers: {
          200: 'Noted: the next round begins when the current one ends.',
          201: 'The next round is pending and waits for a worker.',
        },
      },
      schema: {
        operationId: 'rerunRun',
        tags: ['Runs'],
        summary: 'Rerun a run',
        description:
          'Starts a new round: now, or when the current round ends. Answers like a claim.',
        params: runParams,
        body: noFields,
        response: { 200: claimed, 201: claimed },
      },
    },
    async (request, reply) => {
      const view = await rerunRun(deps, callerOf(request), request.params, {
        once: onceOf(request, random),
      })
      return reply.code(view.should_process ? 201 : 200).send(view)
    },
  )
}
