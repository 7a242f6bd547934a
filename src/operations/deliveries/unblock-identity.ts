/** Lifts the block on an identity. What waits for it is tried at once. */
import type { BudgetView } from '../../contract/deliveries.ts'
import { budgetView } from '../../contract/delivery-view.ts'
import { operation } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

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
