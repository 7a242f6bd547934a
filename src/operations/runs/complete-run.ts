/** The holder says how the run ended. A repeat answers the same. */
import type { CompleteBody, RunView } from '../../contract/runs.ts'
import { runView } from '../../contract/run-view.ts'
import { heldLeaseHash } from '../caller.ts'
import { operation, type Named } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const completeRun = operation(
  { scopes: ['worker', 'run'], within: 'run' },
  async (
    { runs, store }: Pick<OperationPorts, 'runs' | 'store'>,
    caller,
    { id: runId, lease_token: token, target_url: targetUrl, error, ...said }: Named & CompleteBody,
    { once },
  ): Promise<RunView> => {
    const request = {
      ...said,
      runId,
      leaseHash: heldLeaseHash(caller, token),
      targetUrl,
      error: typeof error === 'string' ? { code: 'failed', text: error } : error,
    }
    return await runView(store, await runs.complete(request, caller.actor, once))
  },
)
