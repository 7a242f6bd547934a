/** Sends one delivery again, at once and with a new deadline. */
import type { DeliveryView } from '../../contract/deliveries.ts'
import { oneDelivery } from '../../contract/delivery-view.ts'
import { operation, type Named } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const retryDelivery = operation(
  { scopes: ['operator'], within: 'delivery' },
  async (
    { store }: Pick<OperationPorts, 'store'>,
    { actor },
    { id }: Named,
    { once = null },
  ): Promise<DeliveryView> => oneDelivery(store, await store.outbox.retry(id, actor, once)),
)
