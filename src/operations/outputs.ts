/** Operations with which a run shows something: its own outputs and its progress. */
import { parseContent } from '../channels/github-channels.ts'
import {
  type OwnDeliveryBody,
  type OwnDeliveryView,
  reservedNames,
} from '../contract/deliveries.ts'
import { oneDelivery } from '../contract/delivery-view.ts'
import type { StatusBody, StatusReportedView } from '../contract/status-report.ts'
import { InvalidInputError } from '../errors.ts'
import { leaseHashToPublish } from './caller.ts'
import { invalidValue } from './invalid-input.ts'
import { type WithId, operation } from './operation.ts'
import type { OperationPorts } from './ports.ts'
import { sealedOnce } from './sealed-answer.ts'

/** `id` is the run's; `name` is what the run calls its output. */
interface OwnOutput extends WithId {
  readonly name: string
  readonly output: OwnDeliveryBody
}

/** Publishes something of the run's own, once per name and round. */
export const publishDelivery = operation(
  { scopes: ['operator', 'worker', 'run'], within: 'run' },
  async (
    { store, publishRights: rightsOf }: Pick<OperationPorts, 'store' | 'publishRights'>,
    caller,
    { id: runId, name, output }: OwnOutput,
  ): Promise<OwnDeliveryView> => {
    if (reservedNames.includes(name)) {
      throw invalidValue(
        'name',
        'is what Holdfast itself publishes for every run; use another name',
      )
    }
    const { channel, lease_token: token, ...given } = output
    const leaseHash = leaseHashToPublish(caller, token)
    const content = { ...parseContent(channel, given) }
    const { actor } = caller
    const request = { runId, name, leaseHash, actor, rightsOf, channel, content }
    const { delivery, already } = await store.outbox.publish(request, null)
    return { ...(await oneDelivery(store, delivery)), already }
  },
)

/** Says in one line how the work goes. It is shown where the run is shown. */
export const reportRunStatus = operation(
  { scopes: ['operator', 'worker', 'run'], within: 'run' },
  async (
    { store, random }: Pick<OperationPorts, 'store' | 'random'>,
    caller,
    { id: runId, status: text, lease_token: token, idempotency_key: key }: WithId & StatusBody,
    { once = null },
  ): Promise<StatusReportedView> => {
    const { actor } = caller
    const report = { runId, leaseHash: leaseHashToPublish(caller, token), actor, text }
    if (key === undefined) await store.runs.reportStatus(report, once)
    else {
      // The answer contains nothing that the store does not have, so the key is secret enough.
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
