/** Closes a delivery without sending it. A newer version of a state opens it again. */
import type { DeliveryView, SkipBody } from '../../contract/deliveries.ts'
import { oneDelivery } from '../../contract/delivery-view.ts'
import { operation, type Named } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const skipDelivery = operation(
  { scopes: ['operator'], within: 'delivery' },
  async (
    { store }: Pick<OperationPorts, 'store'>,
    { actor },
    { id, reason }: Named & SkipBody,
    { once = null },
  ): Promise<DeliveryView> => {
    const skipped = await store.outbox.skip(id, reason.trim(), actor, once)
    return await oneDelivery(store, skipped)
  },
)
