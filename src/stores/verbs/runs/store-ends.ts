/**
 * Stores the end of runs, and what follows from it on their subjects. The subjects must be locked,
 * and each has one of the runs.
 */
import { isDeepStrictEqual } from 'node:util'
import type { AuditDraft } from '../../../domain/audit.ts'
import type { Run } from '../../../domain/run.ts'
import { withEnd } from '../../../domain/subject.ts'
import type { Verb } from '../../sql.ts'
import { insertDecisions } from '../../tables/audit-table.ts'
import { writeRuns } from '../../tables/run-table.ts'
import { writeSubjects } from '../../tables/subject-table.ts'
import type { LockedRun, VerbContext } from '../context.ts'
import { announce } from '../outbox/announce.ts'
import { afterEnds } from './after-end.ts'

export interface RunEnd {
  /** The run and its subject as they were before. */
  readonly before: LockedRun
  readonly ended: Run
  readonly audit: AuditDraft
  readonly causeId: number | null
}

/** In a fixed number of statements. Returns the runs as they are after all this, in order. */
export function* storeEnds(context: VerbContext, ends: readonly RunEnd[]): Verb<Run[]> {
  const now = context.now()
  const decisions = ends.map(({ audit, causeId }) => ({ drafts: [audit], causeId }))
  const endIds = (yield* insertDecisions(decisions, now)).map(([id = 0]) => id)
  // Sorted, as every lock of many.
  const sorted = ends.map(({ ended }) => ended).toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const was = ends.map(({ before }) => before.run)
  const { rowsFromJson } = context.dialect
  const written = new Map(
    (yield* writeRuns(sorted, { was, rowsFromJson })).map((run) => [run.id, run]),
  )
  const stored = ends.map(({ before, ended }, i) => ({
    before: { run: before.run, subject: withEnd(before.subject, ended) },
    ended: written.get(ended.id) ?? ended,
    endId: endIds[i] ?? 0,
  }))
  const changed = stored.filter(({ before }, i) => {
    return !isDeepStrictEqual(before.subject, ends[i]?.before.subject)
  })
  yield* writeSubjects(changed.map(({ before }) => before.subject))
  yield* announce(
    context,
    stored.map(({ before, ended, endId }) => {
      const repositoryId = before.subject.scope
      return { run: ended, repositoryId, began: false, causeId: endId, isSame: false }
    }),
  )
  return yield* afterEnds(context, stored)
}

export function* storeEnd(
  context: VerbContext,
  before: LockedRun,
  ended: Run,
  audit: AuditDraft,
  causeId: number | null,
): Verb<Run> {
  const [stored] = yield* storeEnds(context, [{ before, ended, audit, causeId }])
  return stored ?? ended
}
