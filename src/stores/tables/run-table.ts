/** Table `run`. Every write checks and raises `rev`. */
import { readPullRequestKey } from '../../domain/pair.ts'
import type { Run } from '../../domain/run.ts'
import { LostRace, type RowsFromJson } from '../driver.ts'
import type { Sql, Verb } from '../sql.ts'
import { countChanged, join, padded, raw, sql, tuples } from '../sql.ts'
import { table } from './table.ts'

const run = table<Run>(
  'run',
  [
    'id',
    'rev',
    'type',
    'subjectId',
    'scope',
    'subject',
    'key',
    'pair',
    'repo',
    'pr',
    'baseSha',
    'headSha',
    'state',
    'onNewer',
    'attempt',
    'round',
    'fence',
    'claimFence',
    'anchorPer',
    'statusContext',
    'checkName',
    'locale',
    'reports',
    'orderAt',
    'lastEventAt',
    'rerunWanted',
    'asked',
    'leaseHash',
    'pastLeaseHashes',
    'completedLeaseHash',
    'leaseMs',
    'leaseExpiresAt',
    'holder',
    'worker',
    'tokenId',
    'tokenUntil',
    'availableAt',
    'dueAt',
    'attemptsMax',
    'timeoutMs',
    'pendingTimeoutMs',
    'createdAt',
    'startedAt',
    'finishedAt',
    'deadlineAt',
    'supersededBy',
    'outcome',
    'verdict',
    'summary',
    'description',
    'targetUrl',
    'input',
    'result',
    'errorCode',
    'errorText',
    'webhookId',
    'triggerEvent',
    'triggerAction',
    'triggerSender',
    'previousRunId',
    'previousHeadSha',
    'previousVerdict',
  ],
  {
    flags: ['rerunWanted', 'asked'],
    json: ['reports'],
  },
)

/** Must be exactly the text in the partial indexes over active runs. */
export const isActive = raw(`state IN ('pending', 'running', 'waiting')`)

/** Likewise for the index over runs that are ahead: active, or available for a lease. */
export const isAhead = raw(`(state IN ('running', 'waiting') OR available_at IS NOT NULL)`)

export function* selectRuns(where: Sql): Verb<Run[]> {
  return yield* run.read(sql`SELECT ${run.columns} FROM run WHERE ${where}`)
}

export function* selectRun(id: string): Verb<Run | null> {
  const [found] = yield* selectRuns(sql`id = ${id}`)
  return found ?? null
}

export function* selectRunsById(ids: readonly string[]): Verb<Map<string, Run>> {
  if (ids.length === 0) return new Map()
  const found = yield* selectRuns(sql`id IN (${join(padded(ids))})`)
  return new Map(found.map((item) => [item.id, item]))
}

/** The subjects of these runs, in no order. */
export function* selectSubjectIds(ids: readonly string[]): Verb<string[]> {
  if (ids.length === 0) return []
  const rows = yield sql`SELECT subject_id FROM run WHERE id IN (${join(padded(ids))})`
  return rows.map((row) => row['subject_id'] as string)
}

/** The first active run of each subject, by subject. The length of a queue costs nothing. */
export function* selectFirstActive(subjectIds: readonly string[]): Verb<Map<string, Run>> {
  if (subjectIds.length === 0) return new Map()
  const found = yield* selectRuns(sql`id IN (
    SELECT (SELECT first.id FROM run AS first
      WHERE first.subject_id = subject.id AND ${isActive} ORDER BY first.fence LIMIT 1)
    FROM subject WHERE subject.id IN (${join(padded(subjectIds))}))`)
  return new Map(found.map((item) => [item.subjectId, item]))
}

/** Keys of the runs that this one superseded when it started. */
export function* selectSupersededBy(run: Run): Verb<string[]> {
  const rows = yield sql`SELECT key FROM run WHERE subject_id = ${run.subjectId}
    AND state = 'superseded' AND superseded_by = ${run.key} AND finished_at = ${run.startedAt}
    ORDER BY id`
  return rows.map((row) => row['key'] as string)
}

/** Nobody else can change them before this transaction ends. */
export function* selectRunsUnchanged(ids: readonly string[], keepUnchanged: Sql): Verb<Run[]> {
  return yield* selectRuns(sql`id IN (${join(padded(ids))}) ORDER BY id ${keepUnchanged}`)
}

/** Who holds a run, or held it. Steps are written often, and a whole row is long. */
export type RunHold = Pick<Run, (typeof holdFields)[number]>

const holdFields = [
  'id',
  'state',
  'round',
  'fence',
  'leaseHash',
  'pastLeaseHashes',
  'completedLeaseHash',
  'tokenUntil',
  'supersededBy',
] as const
const hold = table<RunHold>('run', holdFields)

/** Nobody else can change them before this transaction ends. Sorted, as every lock of many. */
export function* selectHoldsUnchanged(
  ids: readonly string[],
  keepUnchanged: Sql,
): Verb<Map<string, RunHold>> {
  const sorted = [...new Set(ids)].toSorted()
  const found =
    yield* hold.read(sql`SELECT ${hold.columns} FROM run WHERE id IN (${join(padded(sorted))})
    ORDER BY id ${keepUnchanged}`)
  return new Map(found.map((item) => [item.id, item]))
}

/**
 * The runs that claims need: by key within the subject, by key anywhere, and the run that is ahead
 * (or all active ones if the claim supersedes). The length of a queue costs nothing. Joined from a
 * list, because a long IN list makes SQLite read all active runs. The key of a pull request's run
 * is found by the commit in it, so that only keys of jobs need an index.
 */
export function* selectForClaims(claims: readonly ClaimTarget[]): Verb<Run[]> {
  const wanted = tuples(
    padded(claims).map(({ subjectId, pair, key, type, supersedes }) => [
      subjectId,
      supersedes ? subjectId : '',
      pair,
      key,
      type,
      readPullRequestKey(key)?.headSha ?? '',
    ]),
  )
  const names = raw('in_subject, supersedes_in, its_pair, its_key, its_type, its_head')
  const found = yield* run.read(sql`WITH wanted (${names}) AS (VALUES ${wanted})
    SELECT ${run.columns} FROM wanted JOIN run
      ON (subject_id = in_subject AND pair = its_pair)
      OR (subject_id = in_subject AND ${isAhead})
      OR (subject_id = supersedes_in AND ${isActive})
      OR (head_sha = its_head AND key = its_key AND type = its_type)
      OR (key = its_key AND type = its_type AND pr IS NULL)`)
  // One run may be wanted by two claims: by its subject's, and by another's with the same key.
  return [...new Map(found.map((item) => [item.id, item])).values()]
}

export interface ClaimTarget {
  readonly subjectId: string
  readonly pair: string
  readonly key: string
  readonly type: string
  readonly supersedes: boolean
}

/**
 * Writes runs: existing rows first, in the given order (a run that ends comes before the run that
 * takes its place), then new ones. If a row changed or was removed since it was read, the race is
 * lost.
 */
export function* writeRuns(
  runs: readonly Run[],
  { was = [], rowsFromJson = null }: HowToWrite = {},
): Verb<Run[]> {
  const raised = runs.map((item) => ({ ...item, rev: item.rev + 1 }))
  const existing = raised.filter(({ rev }) => rev > 1)
  if (rowsFromJson !== null && existing.length > 1) yield* updateRuns(existing, rowsFromJson)
  else {
    const before = new Map(was.map((item) => [item.id, item]))
    for (const item of existing) yield* updateRun(item, before.get(item.id))
  }
  const fresh = raised.filter(({ rev }) => rev === 1)
  if (fresh.length > 0) yield run.insert(fresh)
  return raised
}

interface HowToWrite {
  /** As they were read: then only what differs is written. */
  readonly was?: readonly Run[]
  /** Writes the existing rows in one statement: only for runs of different subjects. */
  readonly rowsFromJson?: RowsFromJson | null
}

function* updateRun(item: Run, was: Run | undefined): Verb<void> {
  const known = was?.rev === item.rev - 1 ? was : undefined
  const written = yield* countChanged(sql`UPDATE run SET ${run.assign(item, known)}
    WHERE id = ${item.id} AND rev = ${item.rev - 1}`)
  if (written === 0) throw new LostRace('a run changed since it was read')
}

function* updateRuns(items: readonly Run[], rowsFromJson: RowsFromJson): Verb<void> {
  const written = yield sql`UPDATE run SET ${run.assignGiven}
    FROM ${rowsFromJson('run', run.json(items))} AS given
    WHERE run.id = given.id AND run.rev = given.rev - 1 RETURNING run.id`
  if (written.length < items.length) throw new LostRace('a run changed since it was read')
}

/** Other runs on this commit that have or will have a result, the newest claim first. */
export function* selectOthersAt(
  repositoryId: string,
  sha: string | null,
  runId: string,
): Verb<Run[]> {
  return yield* selectRuns(sql`head_sha = ${sha} AND id <> ${runId}
    AND state NOT IN ('cancelled', 'superseded', 'skipped')
    AND EXISTS (SELECT 1 FROM subject WHERE subject.id = run.subject_id
      AND subject.scope = ${repositoryId})
    ORDER BY claim_fence DESC LIMIT 50`)
}

/** The status contexts and check names of runs on this commit. */
export function* selectContextsAt(repositoryId: string, sha: string | null): Verb<string[]> {
  const rows = yield sql`SELECT DISTINCT status_context, check_name FROM run
    WHERE head_sha = ${sha} AND scope = ${repositoryId}`
  const names = rows.flatMap((row) => [row['status_context'], row['check_name']])
  return names.filter((name) => name !== null) as string[]
}

/** Runs with a check run of this name on this commit, the newest claim first. */
export function* selectWithCheckAt(
  repositoryId: string,
  sha: string,
  checkName: string,
): Verb<Run[]> {
  return yield* selectRuns(sql`head_sha = ${sha} AND scope = ${repositoryId}
    AND check_name = ${checkName} ORDER BY claim_fence DESC LIMIT 50`)
}
