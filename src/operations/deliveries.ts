/** Operations on deliveries and on the budgets that they are sent from. */
import type {
  BudgetList,
  BudgetView,
  ConfirmBody,
  DeliveriesQuery,
  DeliveryList,
  DeliveryView,
  DeliveryWithAttemptsView,
  RetriedView,
  RetryManyBody,
  SkipBody,
} from '../contract/deliveries.ts'
import {
  budgetView,
  deliveryPage,
  deliveryWithAttempts,
  oneDelivery,
} from '../contract/delivery-view.ts'
import { deliveryNotFound } from '../errors.ts'
import { limitsOf } from './caller.ts'
import { emptyPage, givenFilters, pageOf } from './listing.ts'
import { type WithId, operation } from './operation.ts'
import type { OperationPorts } from './ports.ts'

/** Deliveries, newest first. A limited token sees those within its limits. */
export const listDeliveries = operation(
  { scopes: ['operator', 'worker', 'read'], within: 'itself' },
  async (
    { store }: Pick<OperationPorts, 'store'>,
    caller,
    query: DeliveriesQuery,
  ): Promise<DeliveryList> => {
    const { status, wait, channel, run: runId, task } = query
    // Nothing belongs to a task yet.
    if (task !== undefined) return emptyPage
    const filter = givenFilters({ status, wait, channel, runId, within: limitsOf(caller) })
    return await deliveryPage(store, await store.outbox.list(filter, pageOf(query)))
  },
)

/** One delivery, with what it should show and its last attempts. */
export const getDelivery = operation(
  { scopes: ['operator', 'worker', 'read'], within: 'delivery' },
  async (
    { store }: Pick<OperationPorts, 'store'>,
    _caller,
    { id }: WithId,
  ): Promise<DeliveryWithAttemptsView> => {
    const found = await store.outbox.delivery(id)
    if (found === null) throw deliveryNotFound(id)
    return await deliveryWithAttempts(store, found, await store.outbox.attemptsOf(id))
  },
)

/** Sends one delivery again, at once and with a new deadline. */
export const retryDelivery = operation(
  { scopes: ['operator'], within: 'delivery' },
  async (
    { store }: Pick<OperationPorts, 'store'>,
    { actor },
    { id }: WithId,
    { once = null },
  ): Promise<DeliveryView> => oneDelivery(store, await store.outbox.retry(id, actor, once)),
)

/** Sends again what failed or was skipped: the oldest 1000 that the filter names. */
export const retryDeliveries = operation(
  { scopes: ['operator'] },
  async (
    { store }: Pick<OperationPorts, 'store'>,
    { actor },
    { status, channel, run: runId }: RetryManyBody,
    { once = null },
  ): Promise<RetriedView> => {
    const filter = givenFilters({ status, channel, runId })
    return { count: await store.outbox.retryMany(filter, actor, once) }
  },
)

/** Closes a delivery without sending it. A newer version of a state opens it again. */
export const skipDelivery = operation(
  { scopes: ['operator'], within: 'delivery' },
  async (
    { store }: Pick<OperationPorts, 'store'>,
    { actor },
    { id, reason }: WithId & SkipBody,
    { once = null },
  ): Promise<DeliveryView> => {
    const skipped = await store.outbox.skip(id, reason.trim(), actor, once)
    return await oneDelivery(store, skipped)
  },
)

/** An operator says that a delivery arrived. GitHub is asked about an id before it is believed. */
export const confirmDelivery = operation(
  { scopes: ['operator'], within: 'delivery' },
  async (
    { store, checkIsOurs }: Pick<OperationPorts, 'store' | 'checkIsOurs'>,
    { actor },
    { id, provider_message_id: given }: WithId & ConfirmBody,
    { once = null },
  ): Promise<DeliveryView> => {
    const providerId = given ?? null
    if (providerId !== null) await checkIsOurs(id, providerId)
    return await oneDelivery(store, await store.outbox.confirm(id, providerId, actor, once))
  },
)

/** How much each identity wrote to GitHub, how much it may write, and which ones are blocked. */
export const listBudgets = operation(
  { scopes: ['operator', 'read'] },
  async ({
    store,
    budgetLimits,
  }: Pick<OperationPorts, 'store' | 'budgetLimits'>): Promise<BudgetList> => {
    const budgets = await store.outbox.budgets()
    const now = store.now()
    return { items: budgets.map((budget) => budgetView(budget, budgetLimits, now)) }
  },
)

/** Lifts the block on an identity. What waits for it is tried at once. */
export const unblockIdentity = operation(
  { scopes: ['operator'] },
  async (
    { store, budgetLimits }: Pick<OperationPorts, 'store' | 'budgetLimits'>,
    { actor },
    { identity }: { readonly identity: string },
    { once = null },
  ): Promise<BudgetView> => {
    const unblocked = await store.outbox.unblock(identity, actor, once)
    return budgetView(unblocked, budgetLimits, store.now())
  },
)
