/**
 * Lists of runs, newest first, each along an index: by repository, pull request, state, key or
 * head. The filters `type`, and `pr` without a repository, only skip rows on the way.
 */
import { readPullRequestKey } from '../../../domain/pair.ts'
import type { Run, RunState } from '../../../domain/run.ts'
import type { Subject } from '../../../domain/subject.ts'
import type { TokenLimits } from '../../../domain/token-limits.ts'
import type { ActiveState, Hold, Page, Paged, RunFilter } from '../../../store.ts'
import { cutPage, pageAfterId, rowsToRead } from '../../paging.ts'
import type { Sql, Verb } from '../../sql.ts'
import { join, padded, raw, sql } from '../../sql.ts'
import { repositoryOfName } from '../../tables/repository-table.ts'
import { isAhead, selectRuns } from '../../tables/run-table.ts'
import { inRepositories, ofTypes } from '../tokens/within-limits.ts'
import { selectSubjects } from '../../tables/subject-table.ts'

export function* listRuns(filter: RunFilter, page: Page): Verb<Paged<Run>> {
  const { repo, repoId, pr, state, type, key, headSha, within } = filter
  const where: Sql[] = [pageAfterId(page)]
  const scope = repositoryOfName(repo ?? '', repoId)
  if (repo !== undefined && pr !== undefined) where.push(ofPullRequest(scope, pr))
  else if (repo !== undefined) where.push(sql`${ofRepository(state)} = ${scope}`)
  else if (pr !== undefined) where.push(sql`pr = ${pr}`)
  if (state !== undefined) where.push(sql`state = ${state}`)
  if (type !== undefined) where.push(sql`type = ${type}`)
  if (key !== undefined) where.push(hasKey(key))
  if (headSha !== undefined) where.push(sql`head_sha = ${headSha}`)
  if (within !== undefined) where.push(ofTypes(within, raw('type')), ofReached(within))
  const inOrder = sql`${join(where, ' AND ')} ORDER BY id DESC`
  const large = ['input', 'result', 'summary', 'error_text', 'reports']
  const count = yield* rowsToRead({ table: raw('run'), large, inOrder, limit: page.limit })
  return cutPage(yield* selectRuns(sql`${inOrder} LIMIT ${count}`), page, (run) => run)
}

/**
 * Few runs are active, however many a repository has had. So active runs are found by their state,
 * and the index over repositories must not be used for them.
 */
const ofRepository = (state: RunState | undefined): Sql =>
  raw(state === 'pending' || state === 'running' || state === 'waiting' ? "scope || ''" : 'scope')

/** The key of a pull request's run is found by the commit in it: see `selectForClaims`. */
function hasKey(key: string): Sql {
  const headSha = readPullRequestKey(key)?.headSha ?? ''
  return sql`id IN (SELECT id FROM run WHERE head_sha = ${headSha} AND key = ${key}
    UNION ALL SELECT id FROM run WHERE key = ${key} AND pr IS NULL)`
}

function ofReached(within: TokenLimits): Sql {
  if (within.repositories === null) return raw('1 = 1')
  return sql`EXISTS (SELECT 1 FROM subject WHERE subject.id = run.subject_id
    AND ${inRepositories(within, raw('subject.scope'))})`
}

/** By subject, so that a renamed repository's older runs are found too. */
function ofPullRequest(scope: Sql, pr: number): Sql {
  return sql`subject_id IN (SELECT id FROM subject WHERE ${subjectsNamed(scope, pr)})`
}

function subjectsNamed(scope: Sql, pr: number): Sql {
  return sql`name = ${`pr-${pr}`}
    AND scope = ${scope}`
}

export function* subjectsOf(repo: string, pr: number, repoId: number | null): Verb<Subject[]> {
  const which = subjectsNamed(repositoryOfName(repo, repoId), pr)
  return yield* selectSubjects(sql`${which} ORDER BY touched_at DESC LIMIT 10`)
}

export function* runAhead(subjectId: string): Verb<Run | null> {
  const [ahead] = yield* selectRuns(sql`subject_id = ${subjectId} AND ${isAhead}`)
  return ahead ?? null
}

/** Each state is one range of an index, so ended runs are not read. */
export function* activeRuns(): Verb<Record<ActiveState, number>> {
  const rows = yield sql`SELECT state, count(*) AS count FROM run
    WHERE state IN ('pending', 'running', 'waiting') GROUP BY state`
  const counts = { pending: 0, running: 0, waiting: 0 }
  for (const row of rows) counts[row['state'] as ActiveState] = Number(row['count'])
  return counts
}

/** Active runs are few, so those that executors hold are found among them. */
export function* executorHolds(): Verb<Hold[]> {
  const rows = yield sql`SELECT id, fence FROM run WHERE state = 'running'
    AND holder = 'executor' ORDER BY id`
  return rows.map((row) => ({ runId: row['id'] as string, fence: Number(row['fence']) }))
}

export function* dueRuns(now: number, limit: number): Verb<string[]> {
  const rows = yield sql`SELECT id FROM run WHERE due_at IS NOT NULL AND due_at <= ${now}
    ORDER BY due_at LIMIT ${limit}`
  return rows.map((row) => row['id'] as string)
}

export function* runTypes(ids: readonly string[]): Verb<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = yield sql`SELECT id, type FROM run WHERE id IN (${join(padded([...new Set(ids)]))})`
  return new Map(rows.map((row) => [row['id'] as string, row['type'] as string]))
}

/** Of these holds, the runs that are gone, ended or under another fence. */
export function* lostHolds(holds: readonly Hold[]): Verb<string[]> {
  if (holds.length === 0) return []
  const ids = join(padded(holds).map(({ runId }) => runId))
  const rows = yield sql`SELECT id, fence FROM run
    WHERE id IN (${ids}) AND state IN ('running', 'waiting')`
  const held = new Map(rows.map((row) => [row['id'] as string, Number(row['fence'])]))
  return holds.filter(({ runId, fence }) => held.get(runId) !== fence).map(({ runId }) => runId)
}
