/**
 * What a change of a run means for what GitHub shows, written in the change's own transaction.
 * Order of locks: subjects, then runs, then deliveries.
 */
import { hash } from 'node:crypto'
import { desiresOf } from '../../domain/outbox/announce.ts'
import type { Revision } from '../../domain/outbox/revise.ts'
import { revise } from '../../domain/outbox/revise.ts'
import type { Run } from '../../domain/run.ts'
import { isActive } from '../../domain/run.ts'
import type { Subject } from '../../domain/subject.ts'
import type { Verb } from '../sql.ts'
import { insertAudits } from '../tables/audit-table.ts'
import { deliveriesAt, writeDeliveries } from '../tables/delivery-table.ts'
import type { VerbContext } from './context.ts'
import { closeOwnOutput } from './own-output.ts'

export interface Change {
  readonly run: Run
  /** Of its subject: our own id of the repository. */
  readonly repositoryId: string
  /** Its round begins with this change, or it has just become the subject's turn. */
  readonly began: boolean
}

/** In the order in which they happened: of two that share a target the later one stands. */
export function* announce(context: VerbContext, changes: readonly Change[]): Verb<void> {
  yield* announceState(context, changes)
  // Also where its type shows nothing: what it published itself is its own.
  const ended = changes.map(({ run }) => run).filter((run) => !isActive(run) && run.repo !== null)
  yield* closeOwnOutput(context, ended)
}

function* announceState(context: VerbContext, changes: readonly Change[]): Verb<void> {
  const wishes = changes.flatMap(({ run, repositoryId, began }) =>
    desiresOf(run, repositoryId, began).map((desire) => ({ desire, run, repositoryId })),
  )
  if (wishes.length === 0) return
  const targets = [...new Set(wishes.map(({ desire }) => desire.target))]
  const standing = yield* deliveriesAt(targets)
  const revised = new Map<string, Revision>()
  const now = context.now()
  for (const wish of wishes) {
    const { target, markerText } = wish.desire
    const before = revised.get(target)
    const found = before?.delivery ?? standing.get(target) ?? null
    const whole = { ...wish, markerKey: markerKeyOf(markerText) }
    const next = revise(found, whole, () => context.newId('del'), now, context.publishing)
    if (next === null) continue
    // Given up and taken over in one go: it was not given up.
    const told = (before?.audits ?? []).filter(({ type }) => type !== 'delivery.skipped')
    const audits = [...told, ...next.audits]
    revised.set(target, { delivery: next.delivery, audits })
  }
  yield* store(context, [...revised.values()])
}

/** The same round goes on: with another holder, or waiting for one. */
export function* announceAnew(
  context: VerbContext,
  { subject }: { readonly subject: Pick<Subject, 'scope'> },
  run: Run,
): Verb<void> {
  yield* announce(context, [{ run, repositoryId: subject.scope, began: false }])
}

function* store(context: VerbContext, revisions: readonly Revision[]): Verb<void> {
  yield* writeDeliveries(revisions.map(({ delivery }) => delivery))
  yield* insertAudits(
    revisions.flatMap(({ audits }) => audits),
    context.now(),
  )
}

/** Part of every comment we write: short, and telling nothing. */
export function markerKeyOf(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 32)
}
