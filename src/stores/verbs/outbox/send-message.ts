/**
 * A message that is no run's: to an address, once per channel, address and key. It needs no run, no
 * subject and no repository, and nobody's lock: its target is unique.
 */
import { messageTo } from '../../../domain/outbox/revise.ts'
import { ConflictError, InvalidInputError } from '../../../errors.ts'
import { markerKeyOf } from '../../../marker-keys.ts'
import type { MessageRequest, PublishAnswer } from '../../../store/outbox-store.ts'
import type { Verb } from '../../sql.ts'
import { deliveriesAt } from '../../tables/delivery-table.ts'
import type { VerbContext } from '../context.ts'
import { storeDeliveries } from './store-deliveries.ts'

export function* sendMessage(context: VerbContext, request: MessageRequest): Verb<PublishAnswer> {
  const { channel, address, key, content } = request
  const { kind, place } = context.channels.of(channel)
  if (kind !== 'message' || place !== 'address') {
    const message = `${channel} does not send messages to an address`
    throw new InvalidInputError('no_place', 'channel', message)
  }
  const target = `message ${JSON.stringify([channel, address, key])}`
  const existing = (yield* deliveriesAt([target])).get(target)
  if (existing !== undefined) {
    if (existing.content !== JSON.stringify(content)) throw differs(key)
    return { delivery: existing, already: true }
  }
  const message = { channel, target, name: key, address, content, markerKey: markerKeyOf(target) }
  const { publishing } = context
  const made = messageTo(message, context.newId('del'), context.now(), publishing)
  const [stored] = yield* storeDeliveries(context, [made])
  return { delivery: stored ?? made, already: false }
}

function differs(key: string): ConflictError {
  return new ConflictError('content_differs', `${key} was already sent there with other content`, {
    hint: 'Send something else under another key; the same message is sent once.',
  })
}
