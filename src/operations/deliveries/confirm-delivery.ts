/** An operator says that a delivery arrived. GitHub is asked about an id before it is believed. */
import type { ConfirmBody, DeliveryView } from '../../contract/deliveries.ts'
import { oneDelivery } from '../../contract/delivery-view.ts'
import { operation, type Named } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const confirmDelivery = operation(
  { scopes: ['operator'], within: 'delivery' },
  async (
    { store, checkIsOurs }: Pick<OperationPorts, 'store' | 'checkIsOurs'>,
    { actor },
    { id, provider_message_id: given }: Named & ConfirmBody,
    { once = null },
  ): Promise<DeliveryView> => {
    const providerId = given ?? null
    if (providerId !== null) await checkIsOurs(id, providerId)
    return await oneDelivery(store, await store.outbox.confirm(id, providerId, actor, once))
  },
)
