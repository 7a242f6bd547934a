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
          'Decides once whether this event leads to work, however often and from how many places ' +
          'it is asked: of all claims for one pair of commits, or one key, exactly one gets 201.',
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
          200: 'Remembered: the next round begins when the present one ends.',
          201: 'The next round has begun and waits for a worker.',
        },
      },
      schema: {
        operationId: 'rerunRun',
        tags: ['Runs'],
        summary: 'Rerun a run',
        description:
          'Has the work done again, in a new round: now, or after the round in hand. Answers ' +
          'like a claim.',
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
