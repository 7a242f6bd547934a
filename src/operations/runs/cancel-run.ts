/** Ends an active run now. Its holder hears of it at its next heartbeat. */
import type { RunView } from '../../contract/runs.ts'
import { runView } from '../../contract/run-view.ts'
import { operation, type Named } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const cancelRun = operation(
  { scopes: ['operator'], within: 'run' },
  async (
    { runs, store }: Pick<OperationPorts, 'runs' | 'store'>,
    { actor },
    { id }: Named,
    { once },
  ): Promise<RunView> => runView(store, await runs.cancel(id, actor, once)),
)
