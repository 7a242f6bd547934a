/** What a run says of itself while it is worked on: how it goes, and outputs of its own. */
import type { FastifyRequest } from 'fastify'
import { toStored } from '../../channels/contents.ts'
import { InvalidInputError } from '../../errors.ts'
import type { PublishRequest } from '../../store/outbox-store.ts'
import { hashLeaseToken } from '../../secrets.ts'
import { principalOf, type App } from '../app.ts'
import {
  holderConflicts,
  ownDelivery,
  ownDeliveryBody,
  ownDeliveryParams,
  reservedNames,
  runParams,
  statusBody,
  statusReported,
  type OwnDeliveryBody,
} from '../contract.ts'
import { oneDelivery } from '../delivery-view.ts'
import type { HttpDeps } from '../deps.ts'
import { onceInRun, onceOf } from '../idempotency.ts'
import { invalid } from '../validation.ts'

export function outputRoutes(app: App, deps: HttpDeps): void {
  statusRoute(app, deps)
  publishRoute(app, deps)
}

function statusRoute(app: App, { store, random }: HttpDeps): void {
  app.post(
    '/v1/runs/:id/status',
    {
      config: {
        access: ['operator', 'worker', 'run'],
        within: 'run',
        conflicts: [...holderConflicts, 'not_active'],
      },
      schema: {
        operationId: 'reportRunStatus',
        tags: ['Work'],
        summary: 'Report a status',
        description:
          "Says in one line how the work goes; it is shown in the run's comment soon, the last " +
          'one always. An admin or operator may report without holding the run.',
        params: runParams,
        body: statusBody,
        response: { 200: statusReported },
      },
    },
    async (request, reply) => {
      const { status: text, lease_token: token, idempotency_key: key } = request.body
      const { id: runId } = request.params
      const { actor } = principalOf(request)
      const report = { runId, leaseHash: speakerOf(request, token), actor, text }
      if (key === undefined) await store.runs.reportStatus(report, onceOf(request, random) ?? null)
      else {
        const once = onceInRun({ runId, key, text }, random)
        await store.runs.reportStatus(report, once).catch(asOwnKey)
      }
      return reply.code(200).send({ status: 'ok', reported_status: text })
    },
  )
}

/** The key came in the body, so that is where its misuse is shown. */
function asOwnKey(error: unknown): never {
  const isReused = error instanceof InvalidInputError && error.code === 'idempotency_key_reused'
  if (!isReused) throw error
  const message = 'this idempotency_key was used in this run for another status'
  throw new InvalidInputError(error.code, 'idempotency_key', message, {
    hint: 'Use a new key for a new report; repeat a key only with the same status.',
  })
}

function publishRoute(app: App, { store, publishRights: rightsOf }: HttpDeps): void {
  app.put(
    '/v1/runs/:id/deliveries/:name',
    {
      config: {
        access: ['operator', 'worker', 'run'],
        within: 'run',
        conflicts: [...holderConflicts, 'content_differs', 'target_taken'],
        answers: {
          200: 'It was published before, and nothing was done.',
          201: 'It is on its way; ask how it goes with `GET /v1/deliveries/{id}`.',
        },
      },
      schema: {
        operationId: 'publishDelivery',
        tags: ['Work'],
        summary: 'Publish something of the run',
        description:
          'A comment, status, check run, label or review of its own, once per name and round, ' +
          'however often it is asked. A status, check run or label may be given a new content ' +
          'under its name, but no other `context` or `label`; other content for a comment or a ' +
          'review is refused. Comments and ' +
          'reviews of one run are sent in the order in which they were published, also when the ' +
          'run is superseded or cancelled before their turn comes. What runs may ' +
          'publish is part of their type’s configuration (`publish`): 403 for anything else.',
        params: ownDeliveryParams,
        body: ownDeliveryBody,
        response: { 200: ownDelivery, 201: ownDelivery },
      },
    },
    async (request, reply) => {
      const { id: runId, name } = request.params
      if (reservedNames.includes(name)) {
        const message = 'is what Holdfast itself publishes for every run; use another name'
        throw invalid(422, [{ field: 'name', message }])
      }
      const leaseHash = speakerOf(request, request.body.lease_token)
      const { actor } = principalOf(request)
      const published = await store.outbox.publish(
        { runId, name, leaseHash, actor, rightsOf, ...contentOf(request.body) },
        null,
      )
      const view = await oneDelivery(store, published.delivery)
      const { already } = published
      return reply.code(already ? 200 : 201).send({ ...view, already })
    },
  )
}

function contentOf(body: OwnDeliveryBody): Pick<PublishRequest, 'channel' | 'content'> {
  const { channel } = body
  switch (channel) {
    case 'github-comment':
      return { channel, content: { ...toStored[channel](body) } }
    case 'github-status':
      return { channel, content: { ...toStored[channel](body) } }
    case 'github-check':
      return { channel, content: { ...toStored[channel](body) } }
    case 'github-label':
      return { channel, content: { ...toStored[channel](body) } }
    case 'github-review':
      return { channel, content: { ...toStored[channel](body) } }
  }
}

/** Null for an admin or operator, who speaks for the run without holding it. */
function speakerOf(request: FastifyRequest, token: string | undefined): string | null {
  if (token !== undefined) return hashLeaseToken(token)
  const principal = principalOf(request)
  if (principal.kind === 'run') return principal.leaseHash
  if (principal.kind === 'token' && principal.scope === 'worker') {
    throw invalid(422, [{ field: 'lease_token', message: 'is required of the scope worker' }])
  }
  return null
}
