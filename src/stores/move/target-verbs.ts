/**
 * What a move changes in its target, each verb one transaction.
 *
 * What must hold: the record of the move is the first thing in the target, and every later change
 * also replaces the record that it was based on. So a process that another one has overtaken
 * changes nothing, and after a crash the record says how far the copy has come.
 */
import type { Interruption } from '../../domain/run.ts'
import { SetupError } from '../../errors.ts'
import { recentOf } from '../sql-store/continuity.ts'
import type { Verb } from '../sql.ts'
import { raw, sql, tuples } from '../sql.ts'
import { insertAudit } from '../tables/audit-table.ts'
import { lockState, writeState } from '../tables/state-table.ts'
import { numberAudits } from '../verbs/audit/audit-order.ts'
import { takeOverLeases } from '../verbs/outbox/lease-deliveries.ts'
import { endExecutorLeases } from '../verbs/runs/end-run.ts'
import type { TablePlan } from './copy-plan.ts'
import { insertIntoTarget } from './copy-statements.ts'
import type { MovedFrom, MoveRecord } from './marks.ts'
import { lastAuditId, lookAtTarget, statesDigest, wasUsed } from './target-look.ts'

/** Stores the record. From here on the target cannot be opened as a store. */
export function* beginMove(record: MoveRecord): Verb<void> {
  // A server that starts at this moment writes here first.
  yield raw('LOCK TABLE store_state IN EXCLUSIVE MODE')
  const { filled, record: other } = yield* lookAtTarget()
  if (filled !== null || other !== null) throw targetChanged(filled ?? 'store_state')
  yield* writeState('move', JSON.stringify(record))
}

export interface Batch {
  /** See `rowsAsJson`. */
  readonly rows: string
  readonly count: number
}

export function* storeBatch(
  table: TablePlan,
  { rows, count }: Batch,
  before: MoveRecord,
  after: MoveRecord,
): Verb<void> {
  yield* replaceRecord(before, after)
  const [answer] = yield insertIntoTarget(table, rows)
  if (Number(answer?.['added']) !== count) throw targetChanged(table.name)
}

export interface StoreFacts {
  readonly plan: readonly TablePlan[]
  /** What the source knows about itself. */
  readonly states: readonly (readonly [key: string, value: string])[]
  /** The highest number that each table ever gave. */
  readonly counters: ReadonlyMap<string, number>
}

/** After this the copy is complete, but cannot be opened until `releaseTarget`. */
export function* completeCopy(
  before: MoveRecord,
  after: MoveRecord,
  { plan, states, counters }: StoreFacts,
): Verb<void> {
  yield* replaceRecord(before, after)
  const others = yield sql`SELECT key FROM store_state WHERE key <> 'move'`
  if (others.length > 0) throw targetChanged('store_state')
  yield sql`INSERT INTO store_state (key, value) VALUES ${tuples(states)}`
  // Every copied audit row has its id as its place in the order, so the next one comes after all.
  yield* writeState('audit_order', String(counters.get('audit') ?? 0))
  for (const { name, numbered } of plan) {
    const last = counters.get(name)
    if (numbered === null || last === undefined || last < 1) continue
    const table = `holdfast."${name}"`
    yield sql`SELECT setval(pg_get_serial_sequence(${table}, ${numbered})::regclass, ${last})`
  }
}

/**
 * The source is marked, so the target may be used. Whoever held something could not reach us since
 * the source's last sign of life.
 */
export function* releaseTarget(record: MoveRecord, now: number): Verb<MovedFrom> {
  const { move, source, replaced, tables } = record
  const released = yield sql`DELETE FROM store_state
    WHERE key = 'move' AND value = ${JSON.stringify(record)} RETURNING key`
  if (released.length === 0) throw overtaken()
  // The process that sent them is gone, as after a crash. What it began to send is in doubt.
  yield* takeOverLeases({ now: () => now })
  yield* endExecutorLeases(now)
  yield* addInterruption(record, now)
  const data = { rows: tables.reduce((sum, { rows }) => sum + rows, 0) }
  yield* insertAudit({ type: 'store.moved', actor: 'cli', runId: null, data }, null, now)
  while (yield* numberAudits());
  const movedFrom = {
    ...{ move, source, at: now, replaced, tables },
    audit: yield* lastAuditId(),
    states: yield* statesDigest(),
  }
  yield* writeState('moved_from', JSON.stringify(movedFrom))
  return movedFrom
}

/** The clocks of the two machines may differ: then nobody knows how long it was. */
function* addInterruption({ alive, begunAt }: MoveRecord, now: number): Verb<void> {
  const since = alive ?? begunAt
  const known = JSON.parse(yield* lockState('interruptions', '[]')) as readonly Interruption[]
  const all = [...known, { beganAt: since < now ? since : 0, endedAt: now }]
  yield* writeState('interruptions', JSON.stringify(recentOf(all, now)))
}

/**
 * Removes the tables of a store that came from a move and was never used. `known` are the tables
 * that are ours.
 */
export function* dropStore(move: string, known: readonly string[]): Verb<void> {
  yield raw('LOCK TABLE store_state, audit IN ACCESS EXCLUSIVE MODE')
  const { record, movedFrom, tables } = yield* lookAtTarget()
  if (record?.move !== move && movedFrom?.move !== move) throw overtaken()
  if (record === null && movedFrom !== null && (yield* wasUsed(movedFrom))) throw targetUsed()
  const ours = tables.filter((name) => known.includes(name))
  yield raw(`DROP TABLE ${ours.map((name) => `"${name}"`).join(', ')}`)
}

function* replaceRecord(before: MoveRecord, after: MoveRecord): Verb<void> {
  const replaced = yield sql`UPDATE store_state SET value = ${JSON.stringify(after)}
    WHERE key = 'move' AND value = ${JSON.stringify(before)} RETURNING key`
  if (replaced.length === 0) throw overtaken()
}

function overtaken(): SetupError {
  return new SetupError('move_running', 'another process has continued this move', {
    hint: 'Let it finish. If it is gone, run this command again: it continues from there.',
  })
}

function targetChanged(table: string): SetupError {
  return new SetupError(
    'target_changed',
    `another program wrote to the target during the move (table ${table})`,
    { hint: 'Stop it. Then give this copy up with --undo, and move again.' },
  )
}

export function targetUsed(): SetupError {
  return new SetupError(
    'target_used',
    'the target was used after the move, so the SQLite file is out of date',
    {
      hint:
        'An undo would lose what happened since. Continue with the target: set ' +
        'HOLDFAST_DATABASE_URL to it.',
    },
  )
}
