/** Deliveries: what has to leave and where it stands, and what an operator says about one. */
import { given, principalOf, type App } from '../app.ts'
import {
  budget,
  budgetList,
  budgetParams,
  confirmBody,
  deliveriesQuery,
  delivery,
  deliveryList,
  deliveryParams,
  deliveryWithAttempts,
  noFields,
  retried,
  retryManyBody,
  skipBody,
} from '../../contract.ts'
import { budgetView, deliveryOf, deliveryPage, oneDelivery } from '../../contract/delivery-view.ts'
import type { HttpDeps } from '../deps.ts'
import { onceOf } from '../requests/idempotency.ts'
import { limitsOf } from '../access/token-reach.ts'

export function deliveryRoutes(app: App, deps: HttpDeps): void {
  lookRoutes(app, deps)
  retryRoutes(app, deps)
  closeRoutes(app, deps)
  budgetRoutes(app, deps)
}

function lookRoutes(app: App, { store }: HttpDeps): void {
  app.get(
    '/v1/deliveries',
    {
      config: { access: ['operator', 'worker', 'read'], within: 'itself' },
      schema: {
        operationId: 'listDeliveries',
        tags: ['Deliveries'],
        summary: 'List deliveries',
        description: 'What has to leave, or has left, newest first; filters narrow each other.',
        querystring: deliveriesQuery,
        response: { 200: deliveryList },
      },
    },
    async (request, reply) => {
      const { status, wait, channel, run: runId, task, limit, cursor = null } = request.query
      // Nothing belongs to a task yet.
      if (task !== undefined) return reply.code(200).send({ items: [], next_cursor: null })
      const within = limitsOf(principalOf(request))
      const filter = given({ status, wait, channel, runId, within })
      const page = await store.outbox.list(filter, { limit, cursor })
      return reply.code(200).send(await deliveryPage(store, page))
    },
  )

  app.get(
    '/v1/deliveries/:id',
    {
      config: { access: ['operator', 'worker', 'read'], within: 'delivery' },
      schema: {
        operationId: 'getDelivery',
        tags: ['Deliveries'],
        summary: 'Get a delivery',
        description: 'With what it should show, and every try.',
        params: deliveryParams,
        response: { 200: deliveryWithAttempts },
      },
    },
    async (request, reply) => reply.code(200).send(await deliveryOf(store, request.params.id)),
  )
}

function retryRoutes(app: App, { store, random }: HttpDeps): void {
  app.post(
    '/v1/deliveries/retry',
    {
      config: { access: ['operator'] },
      schema: {
        operationId: 'retryDeliveries',
        tags: ['Deliveries'],
        summary: 'Send many again',
        description:
          'Opens again what failed (or was skipped), the oldest 1000 of what the filter names. ' +
          'Repeat it until `count` is 0.',
        body: retryManyBody,
        response: { 200: retried },
      },
    },
    async (request, reply) => {
      const { status, channel, run: runId } = request.body ?? {}
      const { actor } = principalOf(request)
      const once = onceOf(request, random) ?? null
      const filter = given({ status, channel, runId })
      return reply.code(200).send({ count: await store.outbox.retryMany(filter, actor, once) })
    },
  )

  app.post(
    '/v1/deliveries/:id/retry',
    {
      config: {
        access: ['operator'],
        within: 'delivery',
        conflicts: ['already_sent', 'target_taken'],
      },
      schema: {
        operationId: 'retryDelivery',
        tags: ['Deliveries'],
        summary: 'Send a delivery again',
        description:
          'At once, with a new deadline. Where it may have arrived, it is looked for first; one ' +
          'that was held is sent on your word that it is not there.',
        params: deliveryParams,
        body: noFields,
        response: { 200: delivery },
      },
    },
    async (request, reply) => {
      const { actor } = principalOf(request)
      const once = onceOf(request, random) ?? null
      const reopened = await store.outbox.retry(request.params.id, actor, once)
      return reply.code(200).send(await oneDelivery(store, reopened))
    },
  )
}

function closeRoutes(app: App, { store, random, checkIsOurs }: HttpDeps): void {
  app.post(
    '/v1/deliveries/:id/skip',
    {
      config: {
        access: ['operator'],
        within: 'delivery',
        conflicts: ['already_sent', 'target_taken'],
      },
      schema: {
        operationId: 'skipDelivery',
        tags: ['Deliveries'],
        summary: 'Skip a delivery',
        description: 'It is not sent. A newer version of a state opens it again.',
        params: deliveryParams,
        body: skipBody,
        response: { 200: delivery },
      },
    },
    async (request, reply) => {
      const { actor } = principalOf(request)
      const once = onceOf(request, random) ?? null
      const reason = request.body.reason.trim()
      const skipped = await store.outbox.skip(request.params.id, reason, actor, once)
      return reply.code(200).send(await oneDelivery(store, skipped))
    },
  )

  app.post(
    '/v1/deliveries/:id/confirm',
    {
      config: {
        access: ['operator'],
        within: 'delivery',
        conflicts: ['not_ours', 'not_checked', 'target_taken'],
      },
      schema: {
        operationId: 'confirmDelivery',
        tags: ['Deliveries'],
        summary: 'Confirm a delivery',
        description:
          'You looked: it is there. It counts as sent. With an id, GitHub is asked whether our ' +
          'account made it on that thread or commit: the next version overwrites it. Without ' +
          'one, the next version looks for it. A repeat answers the same.',
        params: deliveryParams,
        body: confirmBody,
        response: { 200: delivery },
      },
    },
    async (request, reply) => {
      const { actor } = principalOf(request)
      const once = onceOf(request, random) ?? null
      const providerId = request.body?.provider_message_id ?? null
      if (providerId !== null) await checkIsOurs(request.params.id, providerId)
      const confirmed = await store.outbox.confirm(request.params.id, providerId, actor, once)
      return reply.code(200).send(await oneDelivery(store, confirmed))
    },
  )
}

function budgetRoutes(app: App, { store, budgetLimits, random }: HttpDeps): void {
  app.get(
    '/v1/budgets',
    {
      config: { access: ['operator', 'read'] },
      schema: {
        operationId: 'listBudgets',
        tags: ['Deliveries'],
        summary: 'List budgets',
        description: 'How much each identity wrote to GitHub, how much it may, and who is blocked.',
        response: { 200: budgetList },
      },
    },
    async (_request, reply) => {
      const budgets = await store.outbox.budgets()
      const now = store.now()
      return reply
        .code(200)
        .send({ items: budgets.map((budget) => budgetView(budget, budgetLimits, now)) })
    },
  )

  app.post(
    '/v1/budgets/:identity/unblock',
    {
      config: { access: ['operator'] },
      schema: {
        operationId: 'unblockIdentity',
        tags: ['Deliveries'],
        summary: 'Lift a block',
        description:
          'What waits for this identity is tried at once. If GitHub still has it wait, it is ' +
          'blocked again; going on while GitHub limits you can get you banned.',
        params: budgetParams,
        body: noFields,
        response: { 200: budget },
      },
    },
    async (request, reply) => {
      const { actor } = principalOf(request)
      const once = onceOf(request, random) ?? null
      const lifted = await store.outbox.unblock(request.params.identity, actor, once)
      return reply.code(200).send(budgetView(lifted, budgetLimits, store.now()))
    },
  )
}
