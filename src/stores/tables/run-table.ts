/** Table `run`. Every write is an upsert of whole rows that checks and raises `rev`. */
import type { Run } from '../../domain/run.ts'
import { LostRace } from '../driver.ts'
import type { Param, Sql, Verb } from '../sql.ts'
import { join, raw, sql, tuples } from '../sql.ts'
import { table } from './table.ts'

const run = table<Run>(
  [
    'id',
    'rev',
    'type',
    'subjectId',
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
    'orderAt',
    'lastEventAt',
    'rerunWanted',
    'leaseHash',
    'pastLeaseHashes',
    'completedLeaseHash',
    'leaseMs',
    'leaseExpiresAt',
    'holder',
    'worker',
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
  ['rerunWanted'],
)

/** Must read word for word like the predicate of the partial indexes over active runs. */
export const isActive = raw(`state IN ('pending', 'running', 'waiting')`)

export function* selectRuns(where: Sql): Verb<Run[]> {
  const rows = yield sql`SELECT ${run.columns} FROM run WHERE ${where}`
  return rows.map((row) => run.decode(row))
}

export function* selectRun(id: string): Verb<Run | null> {
  const [found] = yield* selectRuns(sql`id = ${id}`)
  return found ?? null
}

/** The claims' runs: by key within the subject, active on the subject, or by key anywhere. */
export function* selectForClaims(claims: readonly ClaimTarget[]): Verb<Run[]> {
  const pairs = tuples(claims.map(({ subjectId, pair }) => [subjectId, pair]))
  const subjects = join(claims.map(({ subjectId }) => subjectId))
  const keys = tuples(claims.map(({ key, type }) => [key, type]))
  return yield* selectRuns(sql`id IN (
    SELECT id FROM run WHERE (subject_id, pair) IN (VALUES ${pairs})
    UNION SELECT id FROM run WHERE subject_id IN (${subjects}) AND ${isActive}
    UNION SELECT id FROM run WHERE (key, type) IN (VALUES ${keys}))`)
}

export interface ClaimTarget {
  readonly subjectId: string
  readonly pair: string
  readonly key: string
  readonly type: string
}

/**
 * Inserts or replaces the given runs, in order (a run that stops being active must come before the
 * one that takes its place). A row that changed since it was read is a lost race.
 */
export function* writeRuns(runs: readonly Run[]): Verb<Run[]> {
  if (runs.length === 0) return []
  const raised = runs.map((item) => ({ ...item, rev: item.rev + 1 }))
  const rows: (readonly Param[])[] = raised.map((item) => run.encode(item))
  const written = yield sql`INSERT INTO run (${run.columns}) VALUES ${tuples(rows)}
    ON CONFLICT (id) DO UPDATE SET ${run.overwrite} WHERE run.rev = excluded.rev - 1
    RETURNING id`
  if (written.length !== runs.length) throw new LostRace('a run changed since it was read')
  return raised
}
