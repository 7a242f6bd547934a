/** Publishes something of the run's own, once per name and round. */
import { parseContent } from '../../channels/contents.ts'
import {
  reservedNames,
  type OwnDeliveryBody,
  type OwnDeliveryView,
} from '../../contract/deliveries.ts'
import { oneDelivery } from '../../contract/delivery-view.ts'
import { speakingLeaseHash } from '../caller.ts'
import { invalidValue } from '../invalid-input.ts'
import { operation, type Named } from '../operation.ts'
import type { OperationPorts } from '../ports.ts'

/** `id` is the run's; `name` is what the run calls its output. */
interface OwnOutput extends Named {
  readonly name: string
  readonly output: OwnDeliveryBody
}

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
    const leaseHash = speakingLeaseHash(caller, token)
    const content = { ...parseContent(channel, given) }
    const { actor } = caller
    const request = { runId, name, leaseHash, actor, rightsOf, channel, content }
    const { delivery, already } = await store.outbox.publish(request, null)
    return { ...(await oneDelivery(store, delivery)), already }
  },
)
