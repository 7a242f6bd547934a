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
import { type Mask, unchanged } from '../texts/run-secrets.ts'
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
    {
      store,
      publishRights: rightsOf,
      runSecrets,
    }: Pick<OperationPorts, 'store' | 'publishRights' | 'runSecrets'>,
    caller,
    { id: runId, name, output }: OwnOutput,
  ): Promise<OwnDeliveryView> => {
    if (reservedNames.includes(name)) {
      throw invalidValue(
        'name',
        `is ${JSON.stringify(name)}, which Holdfast itself publishes for every run. ` +
          'Use another name',
      )
    }
    const { channel, lease_token: token, ...given } = output
    const leaseHash = leaseHashToPublish(caller, token)
    const mask = runSecrets?.maskOf(leaseHash) ?? unchanged
    const content = hideIn({ ...parseContent(channel, given) }, mask)
    const { actor } = caller
    const request = { runId, name, leaseHash, actor, rightsOf, channel, content }
    const { delivery, already } = await store.outbox.publish(request, null)
    return { ...(await oneDelivery(store, delivery)), already }
  },
)

/** GitHub finds an output again by these, so no part of them can be hidden. */
const publicNames = ['context', 'name', 'label']
/** Words of the form, and places in files that GitHub has already. */
const notTexts = ['form', 'event', 'state', 'status', 'conclusion', 'side', 'startSide', 'path']

function hideIn<T extends object>(content: T, mask: Mask): T {
  const hidden = Object.entries(content).map(([field, value]: [string, unknown]) => {
    if (notTexts.includes(field)) return [field, value]
    if (Array.isArray(value)) return [field, value.map((part: unknown) => hideInPart(part, mask))]
    const shown = hideInPart(value, mask)
    if (publicNames.includes(field) && shown !== value) {
      throw new InvalidInputError('invalid_content', field, `${field} must not hold a secret`)
    }
    return [field, shown]
  })
  return Object.fromEntries(hidden) as T
}

function hideInPart(value: unknown, mask: Mask): unknown {
  if (typeof value === 'string') return mask(value)
  return typeof value === 'object' && value !== null ? hideIn(value, mask) : value
}

/** Says in one line how the work goes. It is shown where the run is shown. */
export const reportRunStatus = operation(
  { scopes: ['operator', 'worker', 'run'], within: 'run' },
  async (
    { store, random, runSecrets }: Pick<OperationPorts, 'store' | 'random' | 'runSecrets'>,
    caller,
    { id: runId, status, lease_token: token, idempotency_key: key }: WithId & StatusBody,
    { once = null },
  ): Promise<StatusReportedView> => {
    const { actor } = caller
    const leaseHash = leaseHashToPublish(caller, token)
    const text = (runSecrets?.maskOf(leaseHash) ?? unchanged)(status)
    const report = { runId, leaseHash, actor, text }
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
