/** Deliveries, newest first. A limited token sees those within its limits. */
import type { DeliveriesQuery, DeliveryList } from '../../contract/deliveries.ts'
import { deliveryPage } from '../../contract/delivery-view.ts'
import { limitsOf } from '../caller.ts'
import { emptyPage, given, pageOf } from '../listing.ts'
import { operation } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

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
    const filter = given({ status, wait, channel, runId, within: limitsOf(caller) })
    return await deliveryPage(store, await store.outbox.list(filter, pageOf(query)))
  },
)
