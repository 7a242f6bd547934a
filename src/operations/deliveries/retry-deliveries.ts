/** Sends again what failed or was skipped: the oldest 1000 that the filter names. */
import type { RetriedView, RetryManyBody } from '../../contract/deliveries.ts'
import { given } from '../listing.ts'
import { operation } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const retryDeliveries = operation(
  { scopes: ['operator'] },
  async (
    { store }: Pick<OperationPorts, 'store'>,
    { actor },
    { status, channel, run: runId }: RetryManyBody,
    { once = null },
  ): Promise<RetriedView> => {
    const filter = given({ status, channel, runId })
    return { count: await store.outbox.retryMany(filter, actor, once) }
  },
)
