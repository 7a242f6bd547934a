/**
 * What a change of a run means for what GitHub shows, written in the change's own transaction.
 * Order of locks: subjects, then runs, then deliveries.
 */
import type { AuditDraft } from '../../../domain/audit.ts'
import { desiresOf, type Desire } from '../../../domain/outbox/announce.ts'
import type { Delivery } from '../../../domain/outbox/delivery.ts'
import { mayBeForgotten } from '../../../domain/outbox/restored.ts'
import type { Revision, Wish } from '../../../domain/outbox/revise.ts'
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
import { sayCoveredChecks } from './check-again.ts'
import type { VerbContext } from '../context.ts'
import { laterCheckKeys, leaveToNextRound } from './later-checks.ts'
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
  yield* sayCoveredChecks(context, shown)
}

/** Answers what Holdfast itself shows of them, without what they published. */
export function* announceState(
  context: VerbContext,
  changes: readonly Change[],
): Verb<readonly Delivery[]> {
  const wishes = changes.flatMap(({ run, repositoryId, began, causeId, isSame = false }) =>
    desiresOf(run, repositoryId, began).map((desire) => ({
      ...wishOf(desire, run, repositoryId, causeId),
      isSame,
      ...forgottenOf(context, run),
    })),
  )
  if (wishes.length === 0) return []
  if (context.restoredAt() !== null) {
    yield* leaveToNextRound(
      context,
      changes.filter(({ began }) => began).map(({ run }) => run),
    )
  }
  const targets = [...new Set(wishes.map(({ desire }) => desire.target))]
  const standing = yield* deliveriesAt(targets)
  const revised = new Map<string, CausedRevision>()
  const now = context.now()
  for (const wish of wishes) {
    const { target } = wish.desire
    const before = revised.get(target)
    const found = before?.delivery ?? standing.get(target) ?? null
    const next =
      found !== null && isTaken(found, wish.run)
        ? dropped(found, wish)
        : revise(found, wish, () => context.newId('del'), now, context.publishing)
    if (next !== null) revised.set(target, following(before, next, wish.causeId))
    const shown = revised.get(target)?.delivery ?? found
    const back = shown === null ? null : yield* shownAgain(context, shown, wish)
    if (back !== null) revised.set(target, following(revised.get(target), back, wish.causeId))
  }
  return yield* store(context, [...revised.values()])
}

/** What a restored store may have forgotten of it. */
function forgottenOf(context: VerbContext, run: Run): Pick<Wish, 'forgotten'> {
  if (!mayBeForgotten(run, context.restoredAt(), context.now())) return {}
  return { forgotten: { laterKeys: laterCheckKeys(run) } }
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
function dropped(standing: Delivery, { run, isSame }: Wish & Pick<Change, 'isSame'>): Revision {
  const audits = isSame === true ? [] : [targetTaken(standing, run, standing.runId)]
  return { delivery: standing, audits }
}

/** Two pull requests can share a commit: one that ends without a result hides no other's. */
function* shownAgain(
  context: VerbContext,
  shown: Delivery,
  { desire, run, repositoryId, causeId }: Wish,
): Verb<Revision | null> {
  const isShared = desire.channel === 'github-status' && desire.sha !== null
  if (hasResult(run) || !isShared || shown.runId !== run.id) return null
  const others = yield* selectOthersAt(repositoryId, desire.sha, run.id)
  for (const other of others) {
    const its = desiresOf(other, repositoryId, false).find(({ target }) => target === desire.target)
    if (its === undefined) continue
    const wish = wishOf(its, other, repositoryId, causeId)
    const delivery = giveBack(shown, wish, context.now(), context.publishing)
    return { delivery, audits: [targetTaken(shown, run, other.id)] }
  }
  return null
}

function wishOf(desire: Desire, run: Run, repositoryId: string, causeId: number | null): Wish {
  return { desire, run, repositoryId, markerKey: markerKeyOf(desire.markerText), causeId }
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
