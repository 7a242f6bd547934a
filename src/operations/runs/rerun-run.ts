/** Starts the next round of a run: now, or when the current round ends. */
import type { ClaimedView } from '../../contract/runs.ts'
import { claimedView } from '../../contract/run-view.ts'
import { operation, type Named } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const rerunRun = operation(
  { scopes: ['operator'], within: 'run' },
  async (
    { runs, store }: Pick<OperationPorts, 'runs' | 'store'>,
    { actor },
    { id }: Named,
    { once },
  ): Promise<ClaimedView> => claimedView(store, await runs.rerun(id, actor, once)),
)
