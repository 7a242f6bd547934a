/** Publishes something of the run's own, once per name and round. */
import { toStored } from '../../channels/contents.ts'
import {
  reservedNames,
  type OwnDeliveryBody,
  type OwnDeliveryView,
} from '../../contract/deliveries.ts'
import { oneDelivery } from '../../contract/delivery-view.ts'
import type { PublishRequest } from '../../store.ts'
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
    const leaseHash = speakingLeaseHash(caller, output.lease_token)
    const { actor } = caller
    const { delivery, already } = await store.outbox.publish(
      { runId, name, leaseHash, actor, rightsOf, ...contentOf(output) },
      null,
    )
    return { ...(await oneDelivery(store, delivery)), already }
  },
)

function contentOf(body: OwnDeliveryBody): Pick<PublishRequest, 'channel' | 'content'> {
  const { channel } = body
  switch (channel) {
    case 'github-comment':
      return { channel, content: { ...toStored[channel](body) } }
    case 'github-status':
      return { channel, content: { ...toStored[channel](body) } }
    case 'github-check':
      return { channel, content: { ...toStored[channel](body) } }
    case 'github-label':
      return { channel, content: { ...toStored[channel](body) } }
    case 'github-review':
      return { channel, content: { ...toStored[channel](body) } }
  }
}
