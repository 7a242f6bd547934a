/**
 * Announces a change of a run: writes the deliveries that show it, in the transaction of the
 * change. Order of locks: subjects, then runs, then deliveries.
 */
import type { AuditDraft } from '../../../domain/audit.ts'
import { wantedOutputsOf, type WantedOutput } from '../../../domain/outbox/announce.ts'
import type { Delivery } from '../../../domain/outbox/delivery.ts'
import { mayHaveForgotten } from '../../../domain/outbox/restored.ts'
import type { Revision, RunOutput } from '../../../domain/outbox/revise.ts'
import { giveBack, isTargetTaken, revise, targetTakenAudit } from '../../../domain/outbox/revise.ts'
import { hasOrExpectsResult } from '../../../domain/outbox/give-back.ts'
import type { Run } from '../../../domain/run.ts'
import { isActive } from '../../../domain/run.ts'
import type { Subject } from '../../../domain/subject.ts'
import { markerKeyOf } from '../../../marker-keys.ts'
import type { Verb } from '../../sql.ts'
import { insertDecisions } from '../../tables/audit-table.ts'
import { deliveriesAt } from '../../tables/delivery-table.ts'
import { selectOthersAt } from '../../tables/run-table.ts'
import type { VerbContext } from '../context.ts'
import { closeOwnOutput } from './close-output.ts'
import { laterKeysOf, leaveToNextRound } from './later-rounds.ts'
import { repeatAfterUnannounced } from './repeat-hidden.ts'

import { storeDeliveries } from './store-deliveries.ts'

export interface Change {
  readonly run: Run
  /** Our own id of the subject's repository. */
  readonly repositoryId: string
  /**
   * The run's round begins with this change, or the run has just come to the front of its queue.
   */
  readonly began: boolean
  /** The audit row of the change. */
  readonly causeId: number | null
  /** The run's state did not change. If its target is taken, no audit row is written. */
  readonly isSame?: boolean
}

/**
 * The changes are in the order in which they happened. If two share a target, the later one wins.
 */
export function* announce(context: VerbContext, changes: readonly Change[]): Verb<void> {
  const shown = yield* announceState(context, changes)
  // This is needed even if its type announces nothing, because the run may have published something
  // itself. A run that had ended before was closed then; a merged subject may have thousands of
  // them.
  const ended = changes.filter(({ run, isSame }) => !isActive(run) && isSame !== true)
  yield* closeOwnOutput(
    context,
    ended.filter(({ run }) => run.repo !== null),
  )
  yield* repeatAfterUnannounced(context, shown)
}

/** Returns the deliveries that announce the runs, without what the runs published themselves. */
export function* announceState(
  context: VerbContext,
  changes: readonly Change[],
): Verb<readonly Delivery[]> {
  const outputs = changes.flatMap(({ run, repositoryId, began, causeId, isSame = false }) =>
    wantedOutputsOf(run, repositoryId, began, context.channels).map((wanted) => ({
      ...outputOf(wanted, run, repositoryId, causeId),
      isSame,
      ...forgottenOf(context, run),
    })),
  )
  if (outputs.length === 0) return []
  if (context.restoredAt() !== null) {
    yield* leaveToNextRound(
      context,
      changes.filter(({ began }) => began).map(({ run }) => run),
    )
  }
  const targets = [...new Set(outputs.map(({ wanted }) => wanted.target))]
  const existing = yield* deliveriesAt(targets)
  const revised = new Map<string, RevisionWithCauses>()
  const now = context.now()
  for (const output of outputs) {
    const { target } = output.wanted
    const before = revised.get(target)
    const found = before?.delivery ?? existing.get(target) ?? null
    const next =
      found !== null && isTargetTaken(found, output.run)
        ? leaveTaken(found, output)
        : revise(found, output, () => context.newId('del'), now, context.publishing)
    if (next !== null) revised.set(target, withRevision(before, next, output.causeId))
    const shown = revised.get(target)?.delivery ?? found
    const back = shown === null ? null : yield* giveBackTo(context, shown, output)
    if (back !== null) revised.set(target, withRevision(revised.get(target), back, output.causeId))
  }
  return yield* store(context, [...revised.values()], [...existing.values()])
}

/** What a restored store may have forgotten about the run. */
function forgottenOf(context: VerbContext, run: Run): Pick<RunOutput, 'forgotten'> {
  if (!mayHaveForgotten(run, context.restoredAt(), context.now())) return {}
  return { forgotten: { laterKeys: laterKeysOf(context, run) } }
}

/** The audit rows of one delivery, each with the change that caused it. */
interface RevisionWithCauses {
  readonly delivery: Delivery
  readonly audits: readonly { readonly audit: AuditDraft; readonly causeId: number | null }[]
}

function withRevision(
  before: RevisionWithCauses | undefined,
  next: Revision,
  causeId: number | null,
): RevisionWithCauses {
  // It was skipped and taken over in the same transaction, so it was not really skipped.
  const isTakenOver = next.delivery.status !== 'SKIPPED'
  const earlier = (before?.audits ?? []).filter(({ audit }) => {
    return !isTakenOver || audit.type !== 'delivery.skipped'
  })
  const added = next.audits.map((audit) => ({ audit, causeId }))
  return { delivery: next.delivery, audits: [...earlier, ...added] }
}

/**
 * The delivery is written although nothing changes in it. When the owner of the target ends,
 * another transaction may be about to show this run again. The write makes that transaction notice
 * that this run has changed.
 */
function leaveTaken(
  existing: Delivery,
  { run, isSame }: RunOutput & Pick<Change, 'isSame'>,
): Revision {
  const audits = isSame === true ? [] : [targetTakenAudit(existing, run, existing.runId)]
  return { delivery: existing, audits }
}

/**
 * Two pull requests can share a commit. If the run that is shown ends without a result, the target
 * is given back to another run of the commit.
 */
function* giveBackTo(
  context: VerbContext,
  shown: Delivery,
  { wanted, run, repositoryId, causeId }: RunOutput,
): Verb<Revision | null> {
  const { sha, channel } = wanted
  if (hasOrExpectsResult(run) || !channel.givesBack || sha === null || shown.runId !== run.id)
    return null
  const others = yield* selectOthersAt(repositoryId, sha, run.id)
  for (const other of others) {
    const otherWanted = wantedOutputsOf(other, repositoryId, false, context.channels).find(
      ({ target }) => target === wanted.target,
    )
    if (otherWanted === undefined) continue
    const output = outputOf(otherWanted, other, repositoryId, causeId)
    const delivery = giveBack(shown, output, context.now(), context.publishing)
    return { delivery, audits: [targetTakenAudit(shown, run, other.id)] }
  }
  return null
}

function outputOf(
  wanted: WantedOutput,
  run: Run,
  repositoryId: string,
  causeId: number | null,
): RunOutput {
  return { wanted, run, repositoryId, markerKey: markerKeyOf(wanted.markerText), causeId }
}

/** The round continues, with another holder or without one. `isSame`: the run only reported. */
export function* announceAgain(
  context: VerbContext,
  { subject }: { readonly subject: Pick<Subject, 'scope'> },
  run: Run,
  causeId: number | null,
  isSame = false,
): Verb<void> {
  const change = { run, repositoryId: subject.scope, began: false, causeId, isSame }
  yield* announce(context, [change])
}

function* store(
  context: VerbContext,
  revisions: readonly RevisionWithCauses[],
  was: readonly Delivery[],
): Verb<readonly Delivery[]> {
  const stored = yield* storeDeliveries(
    context,
    revisions.map(({ delivery }) => delivery),
    was,
  )
  const audits = revisions.flatMap((revision) => revision.audits)
  yield* insertDecisions(
    audits.map(({ audit, causeId }) => ({ drafts: [audit], causeId })),
    context.now(),
  )
  return stored
}
