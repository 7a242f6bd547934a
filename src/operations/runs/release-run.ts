/** Gives a run back to wait for another worker. No attempt is counted. */
import type { ReleaseBody, RunView } from '../../contract/runs.ts'
import { runView } from '../../contract/run-view.ts'
import { heldLeaseHash } from '../caller.ts'
import { operation, type Named } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const releaseRun = operation(
  { scopes: ['worker', 'run'], within: 'run' },
  async (
    { runs, store }: Pick<OperationPorts, 'runs' | 'store'>,
    caller,
    { id, lease_token: token }: Named & ReleaseBody,
    { once },
  ): Promise<RunView> => {
    const released = await runs.release(id, heldLeaseHash(caller, token), caller.actor, once)
    return await runView(store, released)
  },
)
