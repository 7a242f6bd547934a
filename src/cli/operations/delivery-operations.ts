/**
 * What operators say about deliveries, straight on the database. A server beside us looks for what
 * is due, so what we open again is sent without a bell.
 */
import { given } from '../../http/app.ts'
import { budgetView, deliveryOf, deliveryPage, oneDelivery } from '../../contract/delivery-view.ts'
import type { CheckIsOurs } from '../../outbox/is-ours.ts'
import { budgetLimits } from '../../settings/budget-limits.ts'
import type { Settings } from '../../settings/settings.ts'
import type { Store } from '../../store.ts'
import type { Operations } from './operations.ts'

/** Who did what is done straight on the database. */
export const actor = 'cli'

type DeliveryOperations = Pick<
  Operations,
  | 'listDeliveries'
  | 'delivery'
  | 'retryDelivery'
  | 'retryDeliveries'
  | 'skipDelivery'
  | 'confirmDelivery'
  | 'budgets'
  | 'unblockIdentity'
>

export function deliveryOperations(
  store: Store,
  settings: Settings,
  checkIsOurs: CheckIsOurs,
): DeliveryOperations {
  const { outbox } = store
  return {
    listDeliveries: async ({ status, wait, channel, run: runId, limit, cursor = null }) => {
      const filter = given({ status, wait, channel, runId })
      return await deliveryPage(store, await outbox.list(filter, { limit, cursor }))
    },
    delivery: (id) => deliveryOf(store, id),
    retryDelivery: async (id) => oneDelivery(store, await outbox.retry(id, actor, null)),
    retryDeliveries: async ({ status, channel, run: runId }) => {
      return { count: await outbox.retryMany(given({ status, channel, runId }), actor, null) }
    },
    skipDelivery: async (id, reason) =>
      oneDelivery(store, await outbox.skip(id, reason, actor, null)),
    confirmDelivery: async (id, { provider_message_id: providerId = null }) => {
      if (providerId !== null) await checkIsOurs(id, providerId)
      return await oneDelivery(store, await outbox.confirm(id, providerId, actor, null))
    },
    budgets: async () => {
      const limits = budgetLimits(settings)
      const budgets = await outbox.budgets()
      const now = store.now()
      return { items: budgets.map((budget) => budgetView(budget, limits, now)) }
    },
    unblockIdentity: async (identity) => {
      const lifted = await outbox.unblock(identity, actor, null)
      return budgetView(lifted, budgetLimits(settings), store.now())
    },
  }
}
