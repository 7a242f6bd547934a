/** `POST /v1/runs` and `POST /v1/runs/{id}/rerun`: both ask for work and answer with a decision. */
import { claimBody, claimed, noFields, runParams } from '../../contract.ts'
import { claimRun } from '../../operations/runs/claim-run.ts'
import { rerunRun } from '../../operations/runs/rerun-run.ts'
import { callerOf, type App } from '../app.ts'
import type { HttpDeps } from '../deps.ts'
import { onceOf } from '../requests/idempotency.ts'

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
