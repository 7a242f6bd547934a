/**
 * Refuses a comment that asked for work on a head that may be newer than the comment. Nothing
 * starts, and one answer is published in the thread. A head without a run gets a skipped run for
 * the record; it does not become the current run, and the head's own event can still start it.
 */
import type { Claim } from '../../../domain/claim.ts'
import { newRun, withTrigger } from '../../../domain/new-run.ts'
import type { AskingComment } from '../../../domain/outbox/refusal.ts'
import { headNewerThanComment, refusalOutput } from '../../../domain/outbox/refusal.ts'
import { revise } from '../../../domain/outbox/revise.ts'
import type { Run } from '../../../domain/run.ts'
import { end } from '../../../domain/run.ts'
import type { Subject } from '../../../domain/subject.ts'
import { markerKeyOf } from '../../../marker-keys.ts'
import { LostRace } from '../../driver.ts'
import type { Verb } from '../../sql.ts'
import { sql } from '../../sql.ts'
import { insertAudit } from '../../tables/audit-table.ts'
import { deliveriesAt } from '../../tables/delivery-table.ts'
import { selectRuns, writeRuns } from '../../tables/run-table.ts'
import { placeClaims } from '../runs/claim-runs.ts'
import type { VerbContext } from '../context.ts'
import { storeDeliveries } from '../outbox/store-deliveries.ts'

export function* refuseComment(
  context: VerbContext,
  claim: Claim,
  comment: AskingComment,
): Verb<Run> {
  const placed = (yield* placeClaims(context, [claim])).get(0)
  if (placed === undefined) throw new LostRace('the subject of a comment is gone')
  const { subject } = placed
  const [existingRun] = yield* selectRuns(sql`subject_id = ${subject.id} AND pair = ${claim.pair}`)
  const run = existingRun ?? (yield* storeRefused(context, claim, subject))
  // If the run existed before, the comment alone is the cause.
  const causeId = existingRun === undefined ? run.fence : (claim.causeId ?? null)
  yield* publishAnswer(context, run, subject.scope, comment, causeId)
  return run
}

function* storeRefused(context: VerbContext, claim: Claim, subject: Subject): Verb<Run> {
  const now = context.now()
  // Without the comment's time: an earlier event of this head may still arrive and must count.
  const fresh = newRun({ ...claim, eventAt: null }, subject, context.newId('run'), now)
  const rank = { rank: 'stale', orderAt: null, unclear: false } as const
  const ending = { state: 'skipped', outcome: 'skipped', errorCode: headNewerThanComment } as const
  const skipped = end(withTrigger(fresh, claim, subject, rank), ending, now)
  const { actor, webhookId, key } = claim
  const { round } = skipped
  const data = { reason: headNewerThanComment, key, round, webhook_id: webhookId }
  const audit = { type: 'run.skipped', actor, runId: skipped.id, data } as const
  const fence = yield* insertAudit(audit, claim.causeId ?? null, now)
  const [stored] = yield* writeRuns([{ ...skipped, fence, claimFence: fence }])
  return stored ?? skipped
}

function* publishAnswer(
  context: VerbContext,
  run: Run,
  repositoryId: string,
  comment: AskingComment,
  causeId: number | null,
): Verb<void> {
  const wanted = refusalOutput(run, repositoryId, comment, context.channels)
  if (wanted === null) return
  const existing = yield* deliveriesAt([wanted.target])
  if (existing.size > 0) return
  const markerKey = markerKeyOf(wanted.markerText)
  const output = { wanted, run, repositoryId, markerKey, causeId }
  const next = revise(null, output, () => context.newId('del'), context.now(), context.publishing)
  if (next !== null) yield* storeDeliveries(context, [next.delivery])
}
