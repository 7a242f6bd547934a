/** For the holder of a run: lease one, keep it, give it back, complete it. */
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
import { completeRun, heartbeatRun, leaseRun, releaseRun } from '../../operations/runs.ts'
import { callerOf, type App } from '../app.ts'
import type { HttpDeps } from '../deps.ts'
import { heldRequest } from '../requests/held-request.ts'
import { onceOf } from '../requests/idempotency.ts'

export function holdRoutes(app: App, deps: HttpDeps): void {
  leaseRoute(app, deps)
  heartbeatRoute(app, deps)
  releaseRoute(app, deps)
  completeRoute(app, deps)
}

function leaseRoute(app: App, deps: HttpDeps): void {
  const { random } = deps
  app.post(
    '/v1/runs/lease',
    {
      config: {
        access: leaseRun.reach,
        answers: { 200: 'A run; you hold its lease.', 204: 'No run is pending.' },
      },
      schema: {
        operationId: 'leaseRun',
        tags: ['Work'],
        summary: 'Lease a pending run',
        description:
          'Takes the run that has waited longest. With `wait_ms` the request waits for one.',
        body: leaseBody,
        response: { 200: leased, 204: nothing },
      },
    },
    async (request, reply) => {
      const held = heldRequest(request, reply, deps)
      const options = { once: onceOf(request, random), signal: held.signal }
      const view = await leaseRun(deps, callerOf(request), request.body, options)
      held.check()
      return view === null ? reply.code(204).send(null) : reply.code(200).send(view)
    },
  )
}

function heartbeatRoute(app: App, deps: HttpDeps): void {
  const { random } = deps
  app.post(
    '/v1/runs/:id/heartbeat',
    {
      config: { access: heartbeatRun.reach, conflicts: holderConflicts },
      schema: {
        operationId: 'heartbeatRun',
        tags: ['Work'],
        summary: 'Heartbeat',
        description:
          'Renews the lease. Send one after a third of its length. With `wait_ms` the request ' +
          'waits and answers early if the run is superseded or cancelled. Any 409 means: stop ' +
          'working.',
        params: runParams,
        body: heartbeatBody,
        response: { 200: renewed },
      },
    },
    async (request, reply) => {
      const held = heldRequest(request, reply, deps)
      const options = { once: onceOf(request, random), signal: held.signal }
      const input = { ...request.params, ...request.body }
      const view = await heartbeatRun(deps, callerOf(request), input, options)
      held.check()
      return reply.code(200).send(view)
    },
  )
}

function releaseRoute(app: App, deps: HttpDeps): void {
  const { random } = deps
  app.post(
    '/v1/runs/:id/release',
    {
      config: { access: releaseRun.reach, conflicts: holderConflicts },
      schema: {
        operationId: 'releaseRun',
        tags: ['Work'],
        summary: 'Release a run',
        description: 'Gives the run back. It waits for another worker, and no attempt is counted.',
        params: runParams,
        body: releaseBody,
        response: { 200: run },
      },
    },
    async (request, reply) => {
      const once = onceOf(request, random)
      const view = await releaseRun(
        deps,
        callerOf(request),
        { ...request.params, ...request.body },
        { once },
      )
      return reply.code(200).send(view)
    },
  )
}

function completeRoute(app: App, deps: HttpDeps): void {
  const { random } = deps
  app.post(
    '/v1/runs/:id/complete',
    {
      config: { access: completeRun.reach, conflicts: holderConflicts },
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
      const once = onceOf(request, random)
      const view = await completeRun(
        deps,
        callerOf(request),
        { ...request.params, ...request.body },
        { once },
      )
      return reply.code(200).send(view)
    },
  )
}
