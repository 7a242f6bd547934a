/** What is in the database that a store is to be moved into. Reads only. */
import { createHash } from 'node:crypto'
import { selectForeign } from '../drivers/foreign-tables.ts'
import type { Verb } from '../sql.ts'
import { raw, sql } from '../sql.ts'
import { otherTables, type TargetColumn } from './copy-plan.ts'
import type { MovedFrom, MoveRecord } from './marks.ts'

export interface TargetLook {
  /** The tables in our schema. */
  readonly tables: readonly string[]
  /** What is there although none of our tables is. */
  readonly foreign: readonly string[]
  readonly applied: readonly number[]
  readonly record: MoveRecord | null
  readonly movedFrom: MovedFrom | null
  /** A table that has rows; null if the database is empty, or has only the record of a move. */
  readonly filled: string | null
}

/** Works with any schema, also with none. */
export function* lookAtTarget(): Verb<TargetLook> {
  const foreign = (yield raw(selectForeign)).map(({ name }) => String(name))
  const found = yield raw(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'holdfast' ORDER BY 1`,
  )
  const tables = foreign.length > 0 ? [] : found.map(({ name }) => String(name))
  const applied = tables.includes('migration')
    ? (yield raw('SELECT version FROM migration')).map(({ version }) => Number(version))
    : []
  const states = new Map(tables.includes('store_state') ? yield* readAllStates() : [])
  const [record, movedFrom] = [states.get('move'), states.get('moved_from')]
  states.delete('move')
  return {
    tables,
    foreign,
    applied,
    record: record === undefined ? null : (JSON.parse(record) as MoveRecord),
    movedFrom: movedFrom === undefined ? null : (JSON.parse(movedFrom) as MovedFrom),
    filled: states.size > 0 ? 'store_state' : yield* filledTable(tables),
  }
}

function* filledTable(tables: readonly string[]): Verb<string | null> {
  for (const name of tables) {
    if (Object.hasOwn(otherTables, name)) continue
    if ((yield raw(`SELECT 1 FROM "${name}" LIMIT 1`)).length > 0) return name
  }
  return null
}

export function* readAllStates(): Verb<(readonly [key: string, value: string])[]> {
  const rows = yield raw('SELECT key, value FROM store_state ORDER BY key')
  return rows.map(({ key, value }) => [String(key), String(value)])
}

export function* targetColumns(): Verb<TargetColumn[]> {
  const rows = yield raw(`SELECT c.relname AS "table", a.attname AS name,
      format_type(a.atttypid, a.atttypmod) AS type, a.attidentity <> '' AS numbered
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'holdfast'::regnamespace AND c.relkind = 'r'
      AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY c.relname, a.attnum`)
  return rows.map(({ table, name, type, numbered }) => ({
    table: String(table),
    name: String(name),
    type: String(type),
    numbered: numbered === true,
  }))
}

/** Whether anything was stored in the target after the move. */
export function* wasUsed({ audit, states }: MovedFrom): Verb<boolean> {
  return (yield* lastAuditId()) !== audit || (yield* statesDigest()) !== states
}

/** Every change of a run, a delivery, a webhook, a token or a key has an audit row. */
export function* lastAuditId(): Verb<number> {
  const [row] = yield sql`SELECT pg_sequence_last_value(
    pg_get_serial_sequence('holdfast.audit', 'id')::regclass) AS last`
  return Number(row?.['last'] ?? 0)
}

/** A server that starts changes what the store knows about itself: its sign of life. */
export function* statesDigest(): Verb<string> {
  const states = (yield* readAllStates()).filter(([key]) => key !== 'moved_from')
  return createHash('sha256').update(JSON.stringify(states)).digest('hex')
}
