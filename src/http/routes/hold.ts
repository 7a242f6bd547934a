/** What the holder of a run says: I take one, I still have it, I give it back, it is done. */
import type { FastifyRequest } from 'fastify'
import { hashLeaseToken } from '../../secrets.ts'
import { principalOf, type App } from '../app.ts'
import {
  completeBody,
  heartbeatBody,
  leaseBody,
  leased,
  nothing,
  releaseBody,
  renewed,
  run,
  runParams,
} from '../contract.ts'
import type { HttpDeps } from '../deps.ts'
import { goneSignal } from '../gone-signal.ts'
import { onceOf } from '../idempotency.ts'
import { leasedView, runView, timeView } from '../run-view.ts'
import { invalid } from '../validation.ts'

export function holdRoutes(app: App, deps: HttpDeps): void {
  leaseRoute(app, deps)
  heartbeatRoute(app, deps)
  releaseRoute(app, deps)
  completeRoute(app, deps)
}

function leaseRoute(app: App, { runs, random, stopping }: HttpDeps): void {
  app.post(
    '/v1/runs/lease',
    {
      config: { access: ['worker'], conflicts: true },
      schema: {
        operationId: 'leaseRun',
        tags: ['Work'],
        summary: 'Take a pending run',
        description: 'With `wait_ms` it holds on until one comes. 204 when none did.',
        body: leaseBody,
        response: { 200: leased, 204: nothing },
      },
    },
    async (request, reply) => {
      const { worker, types, run_id: runId, wait_ms: waitMs, lease_ms: leaseMs } = request.body
      const signal = goneSignal(reply, stopping)
      const answer = await runs.lease(
        { worker, types, runId, waitMs, leaseMs, signal },
        principalOf(request).actor,
        onceOf(request, random),
      )
      return answer === null ? reply.code(204).send(null) : reply.code(200).send(leasedView(answer))
    },
  )
}

function heartbeatRoute(app: App, { runs, random, stopping }: HttpDeps): void {
  app.post(
    '/v1/runs/:id/heartbeat',
    {
      config: { access: ['worker', 'run'], conflicts: true },
      schema: {
        operationId: 'heartbeatRun',
        tags: ['Work'],
        summary: 'Keep the lease',
        description:
          'With `wait_ms` it holds on and answers early when the run is superseded or ' +
          'cancelled: 409 with `superseded`, `cancelled` or `lease_lost` means stop.',
        params: runParams,
        body: heartbeatBody,
        response: { 200: renewed },
      },
    },
    async (request, reply) => {
      const { lease_token: token, lease_ms: leaseMs, wait_ms: waitMs } = request.body ?? {}
      const leaseHash = leaseHashOf(request, token)
      const signal = goneSignal(reply, stopping)
      const answer = await runs.heartbeat(
        { runId: request.params.id, leaseHash, leaseMs, waitMs, signal },
        principalOf(request).actor,
        onceOf(request, random),
      )
      return reply.code(200).send({ expires_at: timeView(answer.expiresAt) })
    },
  )
}

function releaseRoute(app: App, { runs, random }: HttpDeps): void {
  app.post(
    '/v1/runs/:id/release',
    {
      config: { access: ['worker', 'run'], conflicts: true },
      schema: {
        operationId: 'releaseRun',
        tags: ['Work'],
        summary: 'Give it back',
        description: 'The run waits for another worker; no attempt is counted.',
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
      return reply.code(200).send(runView(released))
    },
  )
}

function completeRoute(app: App, { runs, random }: HttpDeps): void {
  app.post(
    '/v1/runs/:id/complete',
    {
      config: { access: ['worker', 'run'], conflicts: true },
      schema: {
        operationId: 'completeRun',
        tags: ['Work'],
        summary: 'Finish it',
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
      return reply.code(200).send(runView(completed))
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
