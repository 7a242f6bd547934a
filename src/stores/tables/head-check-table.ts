/** Table `head_check`: subjects whose head GitHub still has to confirm. */
import type { CatchUpBacklog } from '../../store/catch-up-store.ts'
import type { Sql, Verb } from '../sql.ts'
import { join, sql } from '../sql.ts'

const countMax = 1000

export interface StoredHeadCheck {
  readonly subjectId: string
  readonly runId: string
  /** The decision that asks. */
  readonly fence: number
  readonly tries: number
}

/** Only for subjects this transaction has locked. */
export function* storeHeadCheck(
  { subjectId, runId, fence }: Omit<StoredHeadCheck, 'tries'>,
  dueAt: number,
  now: number,
): Verb<void> {
  yield sql`INSERT INTO head_check (subject_id, run_id, fence, due_at, tries, created_at)
    VALUES (${subjectId}, ${runId}, ${fence}, ${dueAt}, 0, ${now})
    ON CONFLICT (subject_id) DO UPDATE SET run_id = excluded.run_id, fence = excluded.fence,
      due_at = excluded.due_at, tries = 0, created_at = excluded.created_at`
}

/** A question that a newer decision asked meanwhile stays. */
export function* forgetHeadCheck(runId: string, fence: number): Verb<void> {
  yield sql`DELETE FROM head_check WHERE subject_id = (SELECT subject_id FROM run
    WHERE id = ${runId}) AND run_id = ${runId} AND fence <= ${fence}`
}

/** Whether a decision after this one asks about the run. */
export function* isAskedAfter(
  { subjectId, id }: { readonly subjectId: string; readonly id: string },
  fence: number,
): Verb<boolean> {
  const asked = yield sql`SELECT run_id FROM head_check WHERE subject_id = ${subjectId}
    AND run_id = ${id} AND fence > ${fence}`
  return asked.length > 0
}

/** When it was asked; null when nothing is asked about the run. */
export function* askedAt({
  subjectId,
  id,
}: {
  readonly subjectId: string
  readonly id: string
}): Verb<number | null> {
  const [row] = yield sql`SELECT created_at FROM head_check
    WHERE subject_id = ${subjectId} AND run_id = ${id}`
  return row === undefined ? null : Number(row['created_at'])
}

/** The newest decision that asked about these subjects, which this transaction has locked. */
export function* takeHeadChecks(subjectIds: readonly string[]): Verb<number | null> {
  const taken = yield sql`DELETE FROM head_check
    WHERE subject_id IN (${join(subjectIds)}) RETURNING fence`
  return taken.length === 0 ? null : Math.max(...taken.map((row) => Number(row['fence'])))
}

/** After the clock was set back: no check is later than one that is stored now. */
export function* limitHeadCheckTimes(dueAt: number): Verb<void> {
  yield sql`UPDATE head_check SET due_at = ${dueAt} WHERE due_at > ${dueAt}`
}

export function* dropHeadCheck({ subjectId, runId }: StoredHeadCheck): Verb<void> {
  yield sql`DELETE FROM head_check WHERE subject_id = ${subjectId} AND run_id = ${runId}`
}

/** Skips rows that another process has locked. */
export function* dueHeadCheck(now: number, lockFree: Sql): Verb<StoredHeadCheck | null> {
  const [row] = yield sql`SELECT subject_id, run_id, fence, tries FROM head_check
    WHERE due_at <= ${now} ORDER BY due_at LIMIT 1 ${lockFree}`
  if (row === undefined) return null
  return {
    subjectId: row['subject_id'] as string,
    runId: row['run_id'] as string,
    fence: Number(row['fence']),
    tries: Number(row['tries']),
  }
}

export function* postponeHeadCheck(check: StoredHeadCheck, dueAt: number): Verb<void> {
  yield sql`UPDATE head_check SET due_at = ${dueAt}, tries = ${check.tries + 1}
    WHERE subject_id = ${check.subjectId} AND run_id = ${check.runId}`
}

/** The oldest question, and how many there are: counting stops early. */
export function* headChecksWaiting(): Verb<CatchUpBacklog['headChecks']> {
  const rows = yield sql`SELECT created_at FROM head_check
    ORDER BY created_at LIMIT ${countMax + 1}`
  return {
    count: Math.min(rows.length, countMax),
    more: rows.length > countMax,
    oldestAt: rows[0] === undefined ? null : Number(rows[0]['created_at']),
  }
}
