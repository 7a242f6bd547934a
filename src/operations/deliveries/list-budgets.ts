/** How much each identity wrote to GitHub, how much it may write, and which ones are blocked. */
import type { BudgetList } from '../../contract/deliveries.ts'
import { budgetView } from '../../contract/delivery-view.ts'
import { operation } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

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
