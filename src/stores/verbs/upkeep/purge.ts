/**
 * Removes what is past its retention, in small transactions. Never removes an active run, a run
 * with something still to close or deliver, or a subject that was used within a year: so a purged
 * current key and its comment are still known. The last round of every key is kept for a year.
 */
import { subjectKeptMs } from '../../../domain/subject.ts'
import { makeIdFloor } from '../../../ids.ts'
import type { PurgeAnswer, PurgeLimits } from '../../../store.ts'
import type { Row, Sql, Verb } from '../../sql.ts'
import { inPieces, join, raw, sql } from '../../sql.ts'
import { insertAudits } from '../../tables/audit-table.ts'
import type { PastRound } from '../../tables/past-round-table.ts'
import { keepRounds } from '../../tables/past-round-table.ts'
import { deleteStepsOf } from '../../tables/step-table.ts'
import type { VerbContext } from '../context.ts'
import { readState, writeState } from '../../tables/state-table.ts'

const batchMax = 500
/** How many subjects that may be old enough one purge reads. */
const subjectsLookedMax = 2000
const subjectsLookedAt = 'subjects_purged_to'
const budgetsLookedAt = 'budgets_purged_to'
/** The writes of an identity count for an hour; operators see them for longer. */
const budgetKeptMs = 30 * 24 * 60 * 60 * 1000
const dayMs = 24 * 60 * 60 * 1000

export function* purge(
  context: VerbContext,
  limits: PurgeLimits,
  actor: string,
): Verb<PurgeAnswer> {
  const now = context.now()
  const finished = yield* deleteRuns(sql`finished_at IS NOT NULL AND state <> 'superseded'
    AND finished_at < ${now - limits.finishedMs}`)
  const superseded = yield* deleteRuns(sql`state = 'superseded'
    AND finished_at < ${now - limits.supersededMs}`)
  const gone = [...finished, ...superseded]
  yield* deleteDeliveries(gone)
  yield* deleteStepsOf(gone.map((row) => row['id'] as string))
  yield* keepRounds(gone.map(roundOf), now)
  yield* insertAudits(
    gone.map((row) => ({
      type: 'run.purged',
      actor,
      runId: row['id'] as string,
      data: {
        key: row['key'],
        type: row['type'],
        state: row['state'],
        round: Number(row['round']),
      },
    })),
    null,
    now,
  )
  const others = [
    yield sql`DELETE FROM subject_event WHERE (subject_id, webhook_id) IN (
      SELECT subject_id, webhook_id FROM subject_event WHERE at < ${now - limits.eventMs}
      LIMIT ${batchMax}) RETURNING webhook_id`,
    yield sql`DELETE FROM idempotency WHERE key_hash IN (
      SELECT key_hash FROM idempotency WHERE created_at < ${now - dayMs}
      LIMIT ${batchMax}) RETURNING key_hash`,
    yield sql`DELETE FROM audit WHERE id IN (
      SELECT id FROM audit WHERE at < ${now - limits.auditMs} ORDER BY at
      LIMIT ${batchMax}) RETURNING id`,
    yield sql`DELETE FROM past_round WHERE (subject_id, pair) IN (
      SELECT subject_id, pair FROM past_round WHERE at < ${now - subjectKeptMs}
      LIMIT ${batchMax}) RETURNING pair`,
    yield* deleteWebhooks(now - limits.eventMs),
    yield* deleteSubjects(now),
    yield* deleteBudgets(now),
  ]
  const more = [finished, superseded, ...others].some((rows) => rows.length === batchMax)
  return { runs: gone.length, more }
}

/** The condition is repeated outside: a run that was restarted meanwhile is kept. */
function* deleteRuns(past: Sql): Verb<readonly Row[]> {
  return yield sql`DELETE FROM run WHERE id IN (
    SELECT id FROM run WHERE ${past} AND ${delivered} ORDER BY finished_at LIMIT ${batchMax})
    AND ${past} AND ${delivered} 
    RETURNING id, key, type, state, subject_id, pair, round`
}

const roundOf = (row: Row): PastRound => ({
  subjectId: row['subject_id'] as string,
  pair: row['pair'] as string,
  round: Number(row['round']),
})

const delivered = raw(`NOT EXISTS (SELECT 1 FROM delivery
  WHERE delivery.run_id = run.id AND (status = 'PENDING' OR due_at IS NOT NULL))
  AND NOT EXISTS (SELECT 1 FROM unclosed_run WHERE unclosed_run.run_id = run.id)`)

/** Keeps the comment that the next run of the subject takes over. */
function* deleteDeliveries(runs: readonly Row[]): Verb<void> {
  for (const piece of inPieces(runs.map((row) => row['id'] as string))) {
    const gone = yield sql`DELETE FROM delivery WHERE run_id IN (${join(piece)})
      AND NOT (name = 'anchor' AND target = 'anchor subject ' || subject_id) RETURNING id`
    yield* deleteAttempts(gone)
  }
}

function* deleteAttempts(deliveries: readonly Row[]): Verb<void> {
  for (const piece of inPieces(deliveries.map((row) => row['id'] as string))) {
    yield sql`DELETE FROM delivery_attempt WHERE delivery_id IN (${join(piece)})`
  }
}

/** Never removes one that still waits. */
function* deleteWebhooks(before: number): Verb<readonly Row[]> {
  const gone = yield sql`DELETE FROM inbox WHERE arrival IN (
    SELECT arrival FROM inbox WHERE received_at < ${before} AND due_at IS NULL
    ORDER BY received_at LIMIT ${batchMax}) AND due_at IS NULL RETURNING arrival`
  for (const piece of inPieces(gone)) {
    yield sql`DELETE FROM inbox_body
      WHERE arrival IN (${join(piece.map((row) => Number(row['arrival'])))})`
  }
  return gone
}

/**
 * Ids sort by time, so old subjects are found without an index on a column that every claim writes.
 * There are many, and most are still in use: each purge reads the next few, and after the last it
 * begins again.
 */
function* deleteSubjects(now: number): Verb<readonly Row[]> {
  const lookedUpTo = (yield* readState(subjectsLookedAt)) ?? ''
  const looked = yield sql`SELECT id, touched_at FROM subject
    WHERE id > ${lookedUpTo} AND id < ${makeIdFloor('sub', now - subjectKeptMs)}
    ORDER BY id LIMIT ${subjectsLookedMax}`
  const old = looked.filter((row) => Number(row['touched_at']) < now - subjectKeptMs)
  const batch = old.slice(0, batchMax)
  const gone: Row[] = []
  for (const piece of inPieces(batch.map((row) => row['id'] as string))) {
    gone.push(
      ...(yield sql`DELETE FROM subject WHERE id IN (${join(piece)})
        AND touched_at < ${now - subjectKeptMs}
        AND NOT EXISTS (SELECT 1 FROM run WHERE run.subject_id = subject.id) RETURNING id`),
    )
  }
  for (const piece of inPieces(gone.map((row) => row['id'] as string))) {
    yield* deleteAttempts(
      yield sql`DELETE FROM delivery WHERE subject_id IN (${join(piece)}) RETURNING id`,
    )
  }
  const last = batch.length < old.length ? batch.at(-1) : looked.at(subjectsLookedMax - 1)
  yield* writeState(subjectsLookedAt, last === undefined ? '' : (last['id'] as string))
  return batch
}

/**
 * Each purge reads the next few, as with subjects. An identity that writes again gets a new row.
 */
function* deleteBudgets(now: number): Verb<readonly Row[]> {
  const lookedUpTo = (yield* readState(budgetsLookedAt)) ?? ''
  const looked = yield sql`SELECT identity FROM budget WHERE identity > ${lookedUpTo}
    ORDER BY identity LIMIT ${batchMax}`
  const gone: Row[] = []
  for (const piece of inPieces(looked.map((row) => row['identity'] as string))) {
    gone.push(
      ...(yield sql`DELETE FROM budget WHERE identity IN (${join(piece)})
        AND updated_at < ${now - budgetKeptMs}
        AND (blocked_until IS NULL OR blocked_until <= ${now}) RETURNING identity`),
    )
  }
  const last = looked.at(batchMax - 1)
  yield* writeState(budgetsLookedAt, last === undefined ? '' : (last['identity'] as string))
  return gone
}
