/**
 * Two rows turned out to be one repository: claims by its new name came before anybody told us of
 * the rename. Its subjects become one, so that nothing already done under either name is done again
 * and one head owns the pull request.
 */
import type { Run } from '../../domain/run.ts'
import { isActive as isActiveRun, supersede } from '../../domain/run.ts'
import type { Subject } from '../../domain/subject.ts'
import type { Verb } from '../sql.ts'
import { sql } from '../sql.ts'
import { insertAudits } from '../tables/audit-table.ts'
import type { Repository } from '../tables/repository-table.ts'
import { selectRuns, writeRuns } from '../tables/run-table.ts'
import { lockSubject, writeSubjects } from '../tables/subject-table.ts'
import type { VerbContext } from './context.ts'

export function* mergeSubjects(
  context: VerbContext,
  from: Repository,
  into: Repository,
): Verb<void> {
  const strays = yield sql`SELECT stray.id, kept.id AS kept_id FROM subject AS stray
    LEFT JOIN subject AS kept
      ON kept.scope = ${into.id} AND kept.name = stray.name AND kept.type = stray.type
    WHERE stray.scope = ${from.id} ORDER BY stray.id`
  for (const row of strays) {
    const stray = yield* lockSubject(row['id'] as string, context.now())
    const keptId = row['kept_id'] as string | null
    if (keptId === null) yield* writeSubjects([{ ...stray, scope: into.id }])
    else yield* mergeSubject(context, stray, yield* lockSubject(keptId, context.now()))
  }
  const data = { from: from.id, into: into.id, name: into.name }
  yield* insertAudits(
    [{ type: 'repository.merged', actor: 'system', runId: null, data }],
    context.now(),
  )
}

/**
 * The stray's runs move over, unless the kept subject has that pair already. The newer head of the
 * two stays current; what the other had under way is superseded by it.
 */
function* mergeSubject(context: VerbContext, stray: Subject, kept: Subject): Verb<void> {
  const strayRuns = yield* selectRuns(sql`subject_id = ${stray.id}`)
  const keptRuns = yield* selectRuns(sql`subject_id = ${kept.id}`)
  // Jobs that queue or skip have no head to agree on: each subject works off what it has.
  if ([...strayRuns, ...keptRuns].some(({ onNewer }) => onNewer !== 'supersede')) return
  const newer = isNewer(stray, kept, strayRuns, keptRuns) ? stray : kept
  const all = [...strayRuns, ...keptRuns]
  const byKey = all.find(({ id }) => id === newer.currentRunId)?.key ?? ''
  const overtaken = all.filter((run) => isActiveRun(run) && run.subjectId !== newer.id)
  const now = context.now()
  const ended = yield* writeRuns(overtaken.map((run) => supersede(run, byKey, now)))
  yield* insertAudits(
    ended.map(({ id }) => ({
      type: 'run.superseded',
      actor: 'system',
      runId: id,
      data: { by: byKey, why: 'two names turned out to be one repository' },
    })),
    now,
  )
  const pairs = new Set(keptRuns.map(({ pair }) => pair))
  const latest = new Map(ended.map((run) => [run.id, run]))
  const moving = strayRuns.filter(({ pair }) => !pairs.has(pair))
  yield* writeRuns(moving.map((run) => ({ ...(latest.get(run.id) ?? run), subjectId: kept.id })))
  yield* writeSubjects([withHeadOf(kept, newer, keptRuns)])
}

/** By verified order where both have one, else by which was claimed last. */
function isNewer(
  stray: Subject,
  kept: Subject,
  strayRuns: readonly Run[],
  keptRuns: readonly Run[],
): boolean {
  if (stray.headAt !== null && kept.headAt !== null) return stray.headAt >= kept.headAt
  const newest = (runs: readonly Run[]): number => Math.max(0, ...runs.map(({ fence }) => fence))
  return newest(strayRuns) > newest(keptRuns)
}

function withHeadOf(kept: Subject, newer: Subject, keptRuns: readonly Run[]): Subject {
  const own = keptRuns.find(({ pair }) => pair === newer.currentPair)
  return {
    ...kept,
    currentRunId: own?.id ?? newer.currentRunId,
    currentPair: newer.currentPair,
    headSha: newer.headSha,
    headBefore: newer.headBefore,
    headAt: newer.headAt,
    floorAt: newer.floorAt === null ? kept.floorAt : Math.max(newer.floorAt, kept.floorAt ?? 0),
    finishedRunId: newer.finishedRunId ?? kept.finishedRunId,
    finishedHeadSha: newer.finishedHeadSha ?? kept.finishedHeadSha,
    finishedVerdict: newer.finishedVerdict ?? kept.finishedVerdict,
  }
}
