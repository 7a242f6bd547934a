/**
 * How verbs write deliveries. A run's messages are sent in order (domain/outbox/message-line):
 * whoever takes one out of its run's line lets the next one go here, in the same transaction.
 */
import type { Delivery } from '../../../domain/outbox/delivery.ts'
import { atTheEnd, inLine, letGoOn } from '../../../domain/outbox/message-line.ts'
import { priorities } from '../../../domain/outbox/priority.ts'
import type { Verb } from '../../sql.ts'
import {
  firstWaitingInLine,
  hasMessageWaiting,
  lastInLine,
  runsOfFirstInLine,
  writeDeliveries,
} from '../../tables/delivery-table.ts'
import type { VerbContext } from '../context.ts'

export function* storeDeliveries(
  context: VerbContext,
  deliveries: readonly Delivery[],
): Verb<Delivery[]> {
  const now = context.now()
  const lined = deliveries.map((delivery) => inLine(delivery, now))
  const outside = lined.filter(({ kind, line }) => kind === 'message' && line === null)
  // As they are stored: whoever waits in the line itself leaves nothing to the next one.
  const left = yield* runsOfFirstInLine(outside.map(({ id }) => id))
  const stored = yield* writeDeliveries(lined)
  for (const runId of left) yield* letNextGo(context, runId)
  return stored
}

/** One for each that leaves, whoever else is in the line: two that leave at once let two go. */
function* letNextGo(context: VerbContext, runId: string): Verb<void> {
  const next = yield* firstWaitingInLine(runId)
  if (next !== null) yield* writeDeliveries([letGoOn(next, context.now(), context.publishing)])
}

/**
 * A message that is published, or sent again. Behind others of its run it is a further one. The one
 * it stands behind is kept as it is until the commit: else that one could leave and let nobody go.
 */
export function* enterLine(context: VerbContext, delivery: Delivery): Verb<Delivery> {
  const { kind, runId, id, line } = delivery
  if (kind !== 'message' || runId === null) return delivery
  const isFurther = yield* hasMessageWaiting(runId, id)
  const priority = isFurther ? priorities.further : priorities.first
  if (line !== null) return { ...delivery, priority }
  const last = yield* lastInLine(runId, context.dialect.keepUnchanged)
  return atTheEnd({ ...delivery, priority }, last)
}
