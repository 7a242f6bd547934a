/** Takes the run that has waited longest, or null when none comes in time. */
import type { LeaseBody, LeasedView } from '../../contract/runs.ts'
import { leasedView } from '../../contract/run-view.ts'
import { leaseTokenOf, limitsOf } from '../caller.ts'
import { operation } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'
import { checkRun } from '../reach.ts'

export const leaseRun = operation(
  { scopes: ['worker'], within: 'itself' },
  async (
    { runs, store }: Pick<OperationPorts, 'runs' | 'store'>,
    caller,
    { worker, types, run_id: runId, wait_ms: waitMs, lease_ms: leaseMs }: LeaseBody,
    { once, signal },
  ): Promise<LeasedView | null> => {
    const [within, token] = [limitsOf(caller), leaseTokenOf(caller)]
    if (within !== undefined && runId !== undefined) await checkRun(store, within, runId)
    const request = { worker, types, runId, waitMs, leaseMs, within, token, signal }
    const leased = await runs.lease(request, caller.actor, once)
    return leased && (await leasedView(store, leased))
  },
)
