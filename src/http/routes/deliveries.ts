/** Deliveries: what has to be sent and its state, and what an operator decides about one. */
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
import {
  confirmDelivery,
  getDelivery,
  listBudgets,
  listDeliveries,
  retryDeliveries,
  retryDelivery,
  skipDelivery,
  unblockIdentity,
} from '../../operations/deliveries.ts'
import { callerOf, type App } from '../app.ts'
import type { HttpDeps } from '../deps.ts'
import { onceOf } from '../requests/idempotency.ts'

export function deliveryRoutes(app: App, deps: HttpDeps): void {
  readRoutes(app, deps)
  retryRoutes(app, deps)
  closeRoutes(app, deps)
  budgetRoutes(app, deps)
}

function readRoutes(app: App, deps: HttpDeps): void {
  app.get(
    '/v1/deliveries',
    {
      config: { access: listDeliveries.reach },
      schema: {
        operationId: 'listDeliveries',
        tags: ['Deliveries'],
        summary: 'List deliveries',
        description: 'What has to be sent or was sent, newest first. All filters apply together.',
        querystring: deliveriesQuery,
        response: { 200: deliveryList },
      },
    },
    async (request, reply) =>
      reply.code(200).send(await listDeliveries(deps, callerOf(request), request.query)),
  )

  app.get(
    '/v1/deliveries/:id',
    {
      config: { access: getDelivery.reach },
      schema: {
        operationId: 'getDelivery',
        tags: ['Deliveries'],
        summary: 'Get a delivery',
        description: 'With what it should show, and its last 100 attempts.',
        params: deliveryParams,
        response: { 200: deliveryWithAttempts },
      },
    },
    async (request, reply) =>
      reply.code(200).send(await getDelivery(deps, callerOf(request), request.params)),
  )
}

function retryRoutes(app: App, deps: HttpDeps): void {
  const { random } = deps
  app.post(
    '/v1/deliveries/retry',
    {
      config: { access: retryDeliveries.reach },
      schema: {
        operationId: 'retryDeliveries',
        tags: ['Deliveries'],
        summary: 'Send many again',
        description:
          'Sends again what failed or was skipped: the oldest 1000 that match. Repeat it ' +
          'until `count` is 0.',
        body: retryManyBody,
        response: { 200: retried },
      },
    },
    async (request, reply) => {
      const once = onceOf(request, random)
      const view = await retryDeliveries(deps, callerOf(request), request.body ?? {}, { once })
      return reply.code(200).send(view)
    },
  )

  app.post(
    '/v1/deliveries/:id/retry',
    {
      config: {
        access: retryDelivery.reach,
        conflicts: ['already_sent', 'target_taken'],
      },
      schema: {
        operationId: 'retryDelivery',
        tags: ['Deliveries'],
        summary: 'Send a delivery again',
        description:
          'At once, with a new deadline. If it may have arrived, Holdfast looks for it first. ' +
          'A held delivery is sent without looking: you confirm that it did not arrive.',
        params: deliveryParams,
        body: noFields,
        response: { 200: delivery },
      },
    },
    async (request, reply) => {
      const once = onceOf(request, random)
      const view = await retryDelivery(deps, callerOf(request), request.params, { once })
      return reply.code(200).send(view)
    },
  )
}

function closeRoutes(app: App, deps: HttpDeps): void {
  const { random } = deps
  app.post(
    '/v1/deliveries/:id/skip',
    {
      config: {
        access: skipDelivery.reach,
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
      const once = onceOf(request, random)
      const view = await skipDelivery(
        deps,
        callerOf(request),
        { ...request.params, ...request.body },
        { once },
      )
      return reply.code(200).send(view)
    },
  )

  app.post(
    '/v1/deliveries/:id/confirm',
    {
      config: {
        access: confirmDelivery.reach,
        conflicts: ['not_ours', 'not_checked', 'target_taken'],
      },
      schema: {
        operationId: 'confirmDelivery',
        tags: ['Deliveries'],
        summary: 'Confirm a delivery',
        description:
          'You checked that it arrived, so it counts as sent. With an id, GitHub is asked ' +
          'whether our account made it on that thread or commit, and the next version ' +
          'overwrites it. Without an id, the next version looks for it. A repeat answers the ' +
          'same.',
        params: deliveryParams,
        body: confirmBody,
        response: { 200: delivery },
      },
    },
    async (request, reply) => {
      const once = onceOf(request, random)
      const view = await confirmDelivery(
        deps,
        callerOf(request),
        { ...request.params, ...request.body },
        { once },
      )
      return reply.code(200).send(view)
    },
  )
}

function budgetRoutes(app: App, deps: HttpDeps): void {
  const { random } = deps
  app.get(
    '/v1/budgets',
    {
      config: { access: listBudgets.reach },
      schema: {
        operationId: 'listBudgets',
        tags: ['Deliveries'],
        summary: 'List budgets',
        description:
          'How much each identity wrote to GitHub, how much it may write, and ' +
          'which ones are blocked.',
        response: { 200: budgetList },
      },
    },
    async (request, reply) =>
      reply.code(200).send(await listBudgets(deps, callerOf(request), undefined)),
  )

  app.post(
    '/v1/budgets/:identity/unblock',
    {
      config: { access: unblockIdentity.reach },
      schema: {
        operationId: 'unblockIdentity',
        tags: ['Deliveries'],
        summary: 'Lift a block',
        description:
          'What waits for this identity is tried at once. If GitHub still asks us to wait, it ' +
          'is blocked again. Sending while GitHub limits you can get you banned.',
        params: budgetParams,
        body: noFields,
        response: { 200: budget },
      },
    },
    async (request, reply) => {
      const once = onceOf(request, random)
      const view = await unblockIdentity(deps, callerOf(request), request.params, { once })
      return reply.code(200).send(view)
    },
  )
}
