/** One run. */
import type { RunView } from '../../contract/runs.ts'
import { runView } from '../../contract/run-view.ts'
import { operation, type Named } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const getRun = operation(
  { scopes: ['operator', 'worker', 'read', 'run'], within: 'run' },
  async (
    { runs, store }: Pick<OperationPorts, 'runs' | 'store'>,
    _caller,
    { id }: Named,
  ): Promise<RunView> => runView(store, await runs.get(id)),
)
