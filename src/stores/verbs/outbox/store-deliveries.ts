/**
 * The one way in which verbs write deliveries. A run's messages are sent in order
 * (domain/outbox/message-line). If a message leaves its run's line, the next one is released here,
 * in the same transaction.
 */
import type { Delivery } from '../../../domain/outbox/delivery.ts'
import {
  atEndOfLine,
  leaveLineUnlessSending,
  releaseFromLine,
} from '../../../domain/outbox/message-line.ts'
import { priorities } from '../../../domain/outbox/queue.ts'
import type { Revision } from '../../../domain/outbox/revise.ts'
import type { Verb } from '../../sql.ts'
import { insertAudits } from '../../tables/audit-table.ts'
import {
  firstWaitingInLine,
  hasMessageWaiting,
  lastInLine,
  runsOfFirstInLine,
  writeDeliveries,
} from '../../tables/delivery-table.ts'
import type { VerbContext } from '../context.ts'

/** `was`: as they were read, which saves work. */
export function* storeDeliveries(
  context: VerbContext,
  deliveries: readonly Delivery[],
  was: readonly Delivery[] = [],
): Verb<Delivery[]> {
  const now = context.now()
  const lined = deliveries.map((delivery) => leaveLineUnlessSending(delivery, now))
  const outside = lined.filter(({ kind, line }) => kind === 'message' && line === null)
  // Read before the write. A message that itself waited in the line releases nobody when it leaves.
  const left = yield* runsOfFirstInLine(outside.map(({ id }) => id))
  const stored = yield* writeDeliveries(lined, was, context.dialect.rowsFromJson)
  for (const runId of left) yield* releaseNext(context, runId)
  return stored
}

/** Each message that leaves releases one, so two that leave in one transaction release two. */
function* releaseNext(context: VerbContext, runId: string): Verb<void> {
  const next = yield* firstWaitingInLine(runId)
  if (next === null) return
  const released = releaseFromLine(next, context.now(), context.publishing)
  yield* writeDeliveries([released], [next], null)
}

/**
 * Puts a message that is published or retried into its run's line. If the run already has one
 * waiting, it is a further message. The row before it is kept unchanged until the commit. Otherwise
 * that message could leave the line at the same time and release nobody.
 */
export function* enterLine(context: VerbContext, delivery: Delivery): Verb<Delivery> {
  const { kind, runId, id, line } = delivery
  if (kind !== 'message' || runId === null) return delivery
  const isFurther = yield* hasMessageWaiting(runId, id)
  const priority = isFurther ? priorities.further : priorities.first
  if (line !== null) return { ...delivery, priority }
  const last = yield* lastInLine(runId, context.dialect.keepUnchanged)
  return atEndOfLine({ ...delivery, priority }, last)
}

/** Stores one changed delivery with its audit rows. */
export function* storeRevision(
  context: VerbContext,
  { delivery, audits }: Revision,
  causeId: number | null,
): Verb<Delivery> {
  const [stored] = yield* storeDeliveries(context, [delivery])
  yield* insertAudits(audits, causeId, context.now())
  return stored ?? delivery
}
