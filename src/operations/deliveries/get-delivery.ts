/** One delivery, with what it should show and its last attempts. */
import type { DeliveryWithAttemptsView } from '../../contract/deliveries.ts'
import { deliveryWithAttempts } from '../../contract/delivery-view.ts'
import { deliveryNotFound } from '../../errors.ts'
import { operation, type Named } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const getDelivery = operation(
  { scopes: ['operator', 'worker', 'read'], within: 'delivery' },
  async (
    { store }: Pick<OperationPorts, 'store'>,
    _caller,
    { id }: Named,
  ): Promise<DeliveryWithAttemptsView> => {
    const found = await store.outbox.delivery(id)
    if (found === null) throw deliveryNotFound(id)
    return await deliveryWithAttempts(store, found, await store.outbox.attemptsOf(id))
  },
)
