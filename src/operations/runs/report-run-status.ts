/** Says in one line how the work goes. It is shown where the run is shown. */
import type { StatusBody, StatusReportedView } from '../../contract/status-report.ts'
import { InvalidInputError } from '../../errors.ts'
import { speakingLeaseHash } from '../caller.ts'
import { operation, type Named } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'
import { sealedOnce } from '../sealed-answer.ts'

export const reportRunStatus = operation(
  { scopes: ['operator', 'worker', 'run'], within: 'run' },
  async (
    { store, random }: Pick<OperationPorts, 'store' | 'random'>,
    caller,
    { id: runId, status: text, lease_token: token, idempotency_key: key }: Named & StatusBody,
    { once = null },
  ): Promise<StatusReportedView> => {
    const { actor } = caller
    const report = { runId, leaseHash: speakingLeaseHash(caller, token), actor, text }
    if (key === undefined) await store.runs.reportStatus(report, once)
    else {
      // The answer holds nothing that the store does not hold anyway, so the key may open it.
      const call = { call: ['run status', runId, key], input: text, secret: `${runId} ${key}` }
      await store.runs.reportStatus(report, sealedOnce(call, random)).catch(asOwnKey)
    }
    return { status: 'ok', reported_status: text }
  },
)

/** The key came in the body, so its misuse is shown there. */
function asOwnKey(error: unknown): never {
  const isReused = error instanceof InvalidInputError && error.code === 'idempotency_key_reused'
  if (!isReused) throw error
  const message = 'this idempotency_key was used in this run for another status'
  throw new InvalidInputError(error.code, 'idempotency_key', message, {
    hint: 'Use a new key for a new report; repeat a key only with the same status.',
  })
}
