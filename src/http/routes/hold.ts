/** What the holder of a run says: I take one, I still have it, I give it back, it is done. */
import type { FastifyRequest } from 'fastify'
import { hashLeaseToken } from '../../secrets.ts'
import { leaseTokenOf } from '../access/access.ts'
import { principalOf, type App } from '../app.ts'
import {
  completeBody,
  heartbeatBody,
  holderConflicts,
  leaseBody,
  leased,
  nothing,
  releaseBody,
  renewed,
  run,
  runParams,
} from '../../contract.ts'
import type { HttpDeps } from '../deps.ts'
import { heldRequest } from '../requests/held-request.ts'
import { onceOf } from '../requests/idempotency.ts'
import { timeView } from '../../contract/answers.ts'
import { leasedView, runView } from '../../contract/run-view.ts'
import { checkRun, limitsOf } from '../access/token-reach.ts'
import { invalid } from '../requests/validation.ts'

export function holdRoutes(app: App, deps: HttpDeps): void {
  leaseRoute(app, deps)
  heartbeatRoute(app, deps)
  releaseRoute(app, deps)
  completeRoute(app, deps)
}

function leaseRoute(app: App, deps: HttpDeps): void {
  const { runs, store, random } = deps
  app.post(
    '/v1/runs/lease',
    {
      config: {
        access: ['worker'],
        within: 'itself',
        answers: { 200: 'A run, which you hold from now on.', 204: 'None is pending.' },
      },
      schema: {
        operationId: 'leaseRun',
        tags: ['Work'],
        summary: 'Lease a pending run',
        description: 'Takes the run that waits longest. With `wait_ms` it waits until one comes.',
        body: leaseBody,
        response: { 200: leased, 204: nothing },
      },
    },
    async (request, reply) => {
      const { worker, types, run_id: runId, wait_ms: waitMs, lease_ms: leaseMs } = request.body
      const principal = principalOf(request)
      const [within, token] = [limitsOf(principal), leaseTokenOf(principal)]
      if (within !== undefined && runId !== undefined) await checkRun(store, within, runId)
      const held = heldRequest(request, reply, deps)
      const answer = await runs.lease(
        { worker, types, runId, waitMs, leaseMs, within, token, signal: held.signal },
        principal.actor,
        onceOf(request, random),
      )
      held.check()
      if (answer === null) return reply.code(204).send(null)
      return reply.code(200).send(await leasedView(store, answer))
    },
  )
}

function heartbeatRoute(app: App, deps: HttpDeps): void {
  const { runs, random } = deps
  app.post(
    '/v1/runs/:id/heartbeat',
    {
      config: { access: ['worker', 'run'], within: 'run', conflicts: holderConflicts },
      schema: {
        operationId: 'heartbeatRun',
        tags: ['Work'],
        summary: 'Heartbeat',
        description:
          'Keeps the lease. Send one at a third of its length. With `wait_ms` it holds on and ' +
          'answers early when the run is superseded or cancelled. Any 409 means: stop working.',
        params: runParams,
        body: heartbeatBody,
        response: { 200: renewed },
      },
    },
    async (request, reply) => {
      const { lease_token: token, lease_ms: leaseMs, wait_ms: waitMs } = request.body ?? {}
      const leaseHash = leaseHashOf(request, token)
      const held = heldRequest(request, reply, deps)
      const answer = await runs.heartbeat(
        { runId: request.params.id, leaseHash, leaseMs, waitMs, signal: held.signal },
        principalOf(request).actor,
        onceOf(request, random),
      )
      held.check()
      return reply.code(200).send({ expires_at: timeView(answer.expiresAt) })
    },
  )
}

function releaseRoute(app: App, { runs, store, random }: HttpDeps): void {
  app.post(
    '/v1/runs/:id/release',
    {
      config: { access: ['worker', 'run'], within: 'run', conflicts: holderConflicts },
      schema: {
        operationId: 'releaseRun',
        tags: ['Work'],
        summary: 'Release a run',
        description: 'Gives it back: it waits for another worker, and no attempt is counted.',
        params: runParams,
        body: releaseBody,
        response: { 200: run },
      },
    },
    async (request, reply) => {
      const leaseHash = leaseHashOf(request, request.body?.lease_token)
      const { actor } = principalOf(request)
      const once = onceOf(request, random)
      const released = await runs.release(request.params.id, leaseHash, actor, once)
      return reply.code(200).send(await runView(store, released))
    },
  )
}

function completeRoute(app: App, { runs, store, random }: HttpDeps): void {
  app.post(
    '/v1/runs/:id/complete',
    {
      config: { access: ['worker', 'run'], within: 'run', conflicts: holderConflicts },
      schema: {
        operationId: 'completeRun',
        tags: ['Work'],
        summary: 'Complete a run',
        description: 'The holder says how it ended. A repeat answers the same.',
        params: runParams,
        body: completeBody,
        response: { 200: run },
      },
    },
    async (request, reply) => {
      const { lease_token: token, target_url: targetUrl, error, ...rest } = request.body
      const completed = await runs.complete(
        {
          ...rest,
          runId: request.params.id,
          leaseHash: leaseHashOf(request, token),
          targetUrl,
          error: typeof error === 'string' ? { code: 'failed', text: error } : error,
        },
        principalOf(request).actor,
        onceOf(request, random),
      )
      return reply.code(200).send(await runView(store, completed))
    },
  )
}

/** Whoever names a lease holds it; a run token is itself the lease in another form. */
function leaseHashOf(request: FastifyRequest, token: string | undefined): string {
  if (token !== undefined) return hashLeaseToken(token)
  const principal = principalOf(request)
  if (principal.kind === 'run') return principal.leaseHash
  throw invalid(400, [{ field: 'lease_token', message: 'is required' }])
}
