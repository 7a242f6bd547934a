/** `POST /v1/runs` and `POST /v1/runs/{id}/rerun`: both ask for work and answer with a decision. */
import type { ClaimRequest } from '../../runs/runs.ts'
import { leaseTokenOf } from '../access/access.ts'
import { principalOf, type App } from '../app.ts'
import { claimBody, claimed, noFields, runParams, type ClaimBody } from '../../contract.ts'
import type { HttpDeps } from '../deps.ts'
import { onceOf } from '../requests/idempotency.ts'
import { claimedView } from '../../contract/run-view.ts'
import { claimWithin, limitsOf } from '../access/token-reach.ts'
import { invalid } from '../requests/validation.ts'

export function claimRoutes(app: App, { runs, store, random }: HttpDeps): void {
  app.post(
    '/v1/runs',
    {
      config: {
        access: ['worker'],
        within: 'itself',
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
      const principal = principalOf(request)
      const limits = limitsOf(principal)
      const asked = { ...claimRequest(request.body), token: leaseTokenOf(principal) }
      const wanted = limits === undefined ? asked : await claimWithin(store, limits, asked)
      const answer = await runs.claim(wanted, principal.actor, onceOf(request, random))
      const view = await claimedView(store, answer)
      return reply.code(answer.shouldProcess ? 201 : 200).send(view)
    },
  )

  app.post(
    '/v1/runs/:id/rerun',
    {
      config: {
        access: ['operator'],
        within: 'run',
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
      const { actor } = principalOf(request)
      const answer = await runs.rerun(request.params.id, actor, onceOf(request, random))
      const view = await claimedView(store, answer)
      return reply.code(answer.shouldProcess ? 201 : 200).send(view)
    },
  )
}

function claimRequest(body: ClaimBody): ClaimRequest {
  const common = {
    type: body.type,
    webhookId: webhookIdOf(body),
    event: body.event,
    action: body.action,
    sender: body.sender,
    eventAt: body.event_at,
    rerun: body.rerun,
    input: body.input,
    lease: body.lease,
    leaseMs: body.lease_ms,
    repoId: body.repo_id,
  }
  if ('key' in body) {
    const { key, subject, repo, sha } = body
    return { ...common, kind: 'job', key, subject, repo, sha }
  }
  return {
    ...common,
    kind: 'pull_request',
    repo: body.repo,
    pr: body.pr,
    baseSha: body.base_sha,
    headSha: body.head_sha,
    beforeSha: body.before_sha,
  }
}

function webhookIdOf(body: ClaimBody): string | undefined {
  const { webhook_id: webhookId, delivery_id: deliveryId } = body
  if (webhookId !== undefined && deliveryId !== undefined && webhookId !== deliveryId) {
    const message = 'must equal webhook_id when both are given'
    throw invalid(422, [{ field: 'delivery_id', message }])
  }
  return webhookId ?? deliveryId
}
