/** Table `run`. Every write is an upsert of whole rows that checks and raises `rev`. */
import type { Run } from '../../domain/run.ts'
import { LostRace } from '../driver.ts'
import type { Param, Sql, Verb } from '../sql.ts'
import { raw, sql, tuples } from '../sql.ts'
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

/**
 * The claims' runs: by key within the subject, active on the subject, or by key anywhere. Joined
 * from the list, because a long IN list makes SQLite walk all active runs instead.
 */
export function* selectForClaims(claims: readonly ClaimTarget[]): Verb<Run[]> {
  const wanted = tuples(claims.map((claim) => [claim.subjectId, claim.pair, claim.key, claim.type]))
  const rows = yield sql`WITH wanted (in_subject, its_pair, its_key, its_type) AS (VALUES ${wanted})
    SELECT ${run.columns} FROM wanted JOIN run
      ON (subject_id = in_subject AND pair = its_pair)
      OR (subject_id = in_subject AND ${isActive})
      OR (key = its_key AND type = its_type)`
  // One run may be wanted by two claims: by its subject's, and by another's with the same key.
  const found = new Map(rows.map((row) => [row['id'], run.decode(row)]))
  return [...found.values()]
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
