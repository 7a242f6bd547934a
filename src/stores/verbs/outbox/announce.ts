/**
 * What a change of a run means for what GitHub shows, written in the change's own transaction.
 * Order of locks: subjects, then runs, then deliveries.
 */
import type { AuditDraft } from '../../../domain/audit.ts'
import { wantedOutputsOf, type WantedOutput } from '../../../domain/outbox/announce.ts'
import type { Delivery } from '../../../domain/outbox/delivery.ts'
import { mayBeForgotten } from '../../../domain/outbox/restored.ts'
import type { Revision, RunOutput } from '../../../domain/outbox/revise.ts'
import { giveBack, isTaken, revise, targetTaken } from '../../../domain/outbox/revise.ts'
import { hasResult } from '../../../domain/outbox/said-there.ts'
import type { Run } from '../../../domain/run.ts'
import { isActive } from '../../../domain/run.ts'
import type { Subject } from '../../../domain/subject.ts'
import { markerKeyOf } from '../../../marker-keys.ts'
import type { Verb } from '../../sql.ts'
import { insertDecisions } from '../../tables/audit-table.ts'
import { deliveriesAt } from '../../tables/delivery-table.ts'
import { selectOthersAt } from '../../tables/run-table.ts'
import { repeatUnannounced } from './repeat-covered.ts'
import type { VerbContext } from '../context.ts'
import { laterKeysOf, leaveToNextRound } from './later-rounds.ts'
import { closeOwnOutput } from './own-output.ts'
import { storeDeliveries } from './store-deliveries.ts'

export interface Change {
  readonly run: Run
  /** Of its subject: our own id of the repository. */
  readonly repositoryId: string
  /** Its round begins with this change, or it has just become the subject's turn. */
  readonly began: boolean
  /** The audit row that tells of the change. */
  readonly causeId: number | null
  /** Its state is what it was: nothing is told where another run is shown in its place. */
  readonly isSame?: boolean
}

/** In the order in which they happened: of two that share a target the later one stands. */
export function* announce(context: VerbContext, changes: readonly Change[]): Verb<void> {
  const shown = yield* announceState(context, changes)
  // Also where its type shows nothing: what it published itself is its own. What had ended before
  // was closed then: a merged subject may have thousands of such runs.
  const ended = changes.filter(({ run, isSame }) => !isActive(run) && isSame !== true)
  yield* closeOwnOutput(
    context,
    ended.filter(({ run }) => run.repo !== null),
  )
  yield* repeatUnannounced(context, shown)
}

/** Answers what Holdfast itself shows of them, without what they published. */
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
  const revised = new Map<string, CausedRevision>()
  const now = context.now()
  for (const output of outputs) {
    const { target } = output.wanted
    const before = revised.get(target)
    const found = before?.delivery ?? existing.get(target) ?? null
    const next =
      found !== null && isTaken(found, output.run)
        ? dropped(found, output)
        : revise(found, output, () => context.newId('del'), now, context.publishing)
    if (next !== null) revised.set(target, following(before, next, output.causeId))
    const shown = revised.get(target)?.delivery ?? found
    const back = shown === null ? null : yield* shownAgain(context, shown, output)
    if (back !== null) revised.set(target, following(revised.get(target), back, output.causeId))
  }
  return yield* store(context, [...revised.values()])
}

/** What a restored store may have forgotten of it. */
function forgottenOf(context: VerbContext, run: Run): Pick<RunOutput, 'forgotten'> {
  if (!mayBeForgotten(run, context.restoredAt(), context.now())) return {}
  return { forgotten: { laterKeys: laterKeysOf(context, run) } }
}

/** What is told of one delivery, each with the change that led to it. */
interface CausedRevision {
  readonly delivery: Delivery
  readonly told: readonly { readonly audit: AuditDraft; readonly causeId: number | null }[]
}

function following(
  before: CausedRevision | undefined,
  next: Revision,
  causeId: number | null,
): CausedRevision {
  // Given up and taken over in one go: it was not given up.
  const isTakenOver = next.delivery.status !== 'SKIPPED'
  const told = (before?.told ?? []).filter(({ audit }) => {
    return !isTakenOver || audit.type !== 'delivery.skipped'
  })
  const added = next.audits.map((audit) => ({ audit, causeId }))
  return { delivery: next.delivery, told: [...told, ...added] }
}

/**
 * The delivery is written all the same: whoever is about to show this run again, because the owner
 * has ended, must find that it has changed.
 */
function dropped(
  existing: Delivery,
  { run, isSame }: RunOutput & Pick<Change, 'isSame'>,
): Revision {
  const audits = isSame === true ? [] : [targetTaken(existing, run, existing.runId)]
  return { delivery: existing, audits }
}

/** Two pull requests can share a commit: one that ends without a result hides no other's. */
function* shownAgain(
  context: VerbContext,
  shown: Delivery,
  { wanted, run, repositoryId, causeId }: RunOutput,
): Verb<Revision | null> {
  const { sha, channel } = wanted
  if (hasResult(run) || !channel.givesBack || sha === null || shown.runId !== run.id) return null
  const others = yield* selectOthersAt(repositoryId, sha, run.id)
  for (const other of others) {
    const its = wantedOutputsOf(other, repositoryId, false, context.channels).find(
      ({ target }) => target === wanted.target,
    )
    if (its === undefined) continue
    const output = outputOf(its, other, repositoryId, causeId)
    const delivery = giveBack(shown, output, context.now(), context.publishing)
    return { delivery, audits: [targetTaken(shown, run, other.id)] }
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

/** The same round goes on: with another holder, or waiting for one; `isSame`: it only reported. */
export function* announceAnew(
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
  revisions: readonly CausedRevision[],
): Verb<readonly Delivery[]> {
  const stored = yield* storeDeliveries(
    context,
    revisions.map(({ delivery }) => delivery),
  )
  const told = revisions.flatMap((revision) => revision.told)
  yield* insertDecisions(
    told.map(({ audit, causeId }) => ({ drafts: [audit], causeId })),
    context.now(),
  )
  return stored
}
