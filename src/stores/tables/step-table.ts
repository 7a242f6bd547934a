/** Table `step`. Every write is an upsert of whole rows that checks and raises `rev`. */
import type { Step } from '../../domain/step.ts'
import { hashSecret } from '../../secrets.ts'
import { LostRace } from '../driver.ts'
import { rowsToRead } from '../paging.ts'
import type { Sql, Verb } from '../sql.ts'
import { inPieces, join, padded, raw, sql, tuples } from '../sql.ts'
import { table } from './table.ts'

const step = table<Step>(
  'step',
  [
    'runId',
    'round',
    'name',
    'rev',
    'state',
    'policy',
    'attempt',
    'fence',
    'leaseHash',
    'startId',
    'startedAt',
    'endedAt',
    'result',
    'errorCode',
    'errorText',
    'codeVersion',
  ],
  { keyFields: 3 },
)
const columnsWithoutResult = raw(step.columns.text.replace(' result,', ' NULL AS result,'))

/** How many steps a lease or a list has at most. */
const stepsMax = 1000

export interface StepName {
  readonly runId: string
  readonly round: number
  readonly name: string
}

/** Names a step within its round. */
export const stepMapKey = ({ runId, name }: Pick<StepName, 'runId' | 'name'>): string =>
  `${runId} ${name}`

/** By `stepMapKey`. Two names must not differ in the round alone. */
export function* selectSteps(names: readonly StepName[]): Verb<Map<string, Step>> {
  if (names.length === 0) return new Map()
  // Numbers are sent as text, because a list of values has no types of its own on PostgreSQL.
  const wanted = tuples(padded(names).map(({ runId, round, name }) => [runId, String(round), name]))
  const found =
    yield* step.read(sql`WITH wanted (its_run, its_round, its_name) AS (VALUES ${wanted})
    SELECT ${step.columns} FROM wanted JOIN step ON run_id = its_run
      AND round = CAST(its_round AS INTEGER) AND name = its_name`)
  return new Map(found.map((item) => [stepMapKey(item), item]))
}

/** What names one beginning of a step. A lease belongs to one round. */
export interface StepBeginning {
  readonly runId: string
  readonly name: string
  readonly startId: string
  readonly leaseHash: string
}

/** In whatever round it was begun. */
export function* selectStepBegunAs({
  runId,
  name,
  startId,
  leaseHash,
}: StepBeginning): Verb<Step | null> {
  const [found] = yield* step.read(sql`SELECT ${step.columns} FROM step WHERE run_id = ${runId}
    AND name = ${name} AND start_id = ${startId} AND lease_hash = ${leaseHash}`)
  return found ?? null
}

/** Of one round, by name. As many as fit into an answer. */
export function* selectStepsOfRound(runId: string, round: number): Verb<Step[]> {
  const inOrder = sql`run_id = ${runId} AND round = ${round} ORDER BY name`
  const large = ['result', 'error_text']
  const count = yield* rowsToRead({ table: raw('step'), large, inOrder, limit: stepsMax })
  // One row more than fits was counted.
  const some = sql`${inOrder} LIMIT ${count - 1}`
  return yield* step.read(sql`SELECT ${step.columns} FROM step WHERE ${some}`)
}

/** In the order in which they were begun, without results. */
export function* listSteps(runId: string, round: number | null): Verb<Step[]> {
  return yield* step.read(sql`SELECT ${columnsWithoutResult} FROM step WHERE run_id = ${runId}
    AND round = ${roundOr(runId, round)} ORDER BY started_at, name LIMIT ${stepsMax}`)
}

/** Of the present round. */
export function* selectStep(runId: string, name: string): Verb<Step | null> {
  const [found] = yield* step.read(sql`SELECT ${step.columns} FROM step WHERE run_id = ${runId}
    AND round = ${roundOr(runId, null)} AND name = ${name}`)
  return found ?? null
}

function roundOr(runId: string, round: number | null): Sql {
  return round === null ? sql`(SELECT round FROM run WHERE id = ${runId})` : sql`${round}`
}

/**
 * Sorted, so that two batches cannot wait for each other. If a row changed since it was read, the
 * race is lost. The caller must keep the runs unchanged: otherwise the row of a purged run would
 * come back.
 */
export function* writeSteps(steps: readonly Step[]): Verb<Step[]> {
  const raised = steps.map((item) => ({ ...item, rev: item.rev + 1 }))
  if (raised.length === 0) return raised
  const written = yield step.insert(
    raised.toSorted(byKey),
    sql`ON CONFLICT (run_id, round, name) DO UPDATE SET ${step.overwrite}
      WHERE step.rev = excluded.rev - 1 RETURNING name`,
  )
  if (written.length < raised.length) throw new LostRace('a step changed since it was read')
  return raised
}

function byKey(a: Step, b: Step): number {
  if (a.runId !== b.runId) return a.runId < b.runId ? -1 : 1
  return a.name < b.name ? -1 : 1
}

/** So many late results of a step are told apart. */
const lateResultsMax = 32
const lateMarkLength = 16

/**
 * Remembers that this late result changed nothing. Answers whether it is the first time. A column
 * of its own, which nothing else writes: `rev` stays, because the step is the same.
 */
export function* noteLateResult(
  { runId, round, name }: StepName,
  { startId, leaseHash }: Pick<StepBeginning, 'startId' | 'leaseHash'>,
): Verb<boolean> {
  const mark = hashSecret(`${leaseHash} ${startId}`).slice(0, lateMarkLength)
  const length = lateResultsMax * (lateMarkLength + 1)
  const noted = yield sql`UPDATE step
    SET late_results = substr(${` ${mark}`} || late_results, 1, ${length})
    WHERE run_id = ${runId} AND round = ${round} AND name = ${name}
    AND late_results NOT LIKE ${`% ${mark}%`} RETURNING name`
  return noted.length > 0
}

/** Late results of these leases do not count. The caller must have written the runs. */
export function* forgetLeases(
  holds: readonly { readonly runId: string; readonly leaseHash: string }[],
): Verb<void> {
  for (const piece of inPieces(holds)) {
    yield sql`UPDATE step SET rev = rev + 1, lease_hash = ''
      WHERE run_id IN (${join(piece.map(({ runId }) => runId))})
      AND lease_hash IN (${join(piece.map(({ leaseHash }) => leaseHash))})`
  }
}

export function* deleteStepsOf(runIds: readonly string[]): Verb<void> {
  for (const piece of inPieces(runIds)) {
    yield sql`DELETE FROM step WHERE run_id IN (${join(piece)})`
  }
}
