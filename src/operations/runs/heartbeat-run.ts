/** Keeps a lease. With `wait_ms` it waits, and rejects early when the run is taken away. */
import { timeView } from '../../contract/answers.ts'
import type { HeartbeatBody, RenewedView } from '../../contract/runs.ts'
import { heldLeaseHash } from '../caller.ts'
import { operation, type Named } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

export const heartbeatRun = operation(
  { scopes: ['worker', 'run'], within: 'run' },
  async (
    { runs }: Pick<OperationPorts, 'runs' | 'store'>,
    caller,
    { id: runId, lease_token: token, lease_ms: leaseMs, wait_ms: waitMs }: Named & HeartbeatBody,
    { once, signal },
  ): Promise<RenewedView> => {
    const request = { runId, leaseHash: heldLeaseHash(caller, token), leaseMs, waitMs, signal }
    const { expiresAt } = await runs.heartbeat(request, caller.actor, once)
    return { expires_at: timeView(expiresAt) }
  },
)
