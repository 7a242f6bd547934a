/** Table `store_state`: the few things the store knows about itself. */
import type { Verb } from '../sql.ts'
import { join, sql } from '../sql.ts'

export type StateKey =
  | 'mode'
  | 'store_id'
  | 'first_started_at'
  | 'restored_at'
  | 'restore_noting'
  | 'restore_note'
  | 'is_backup'
  | 'alive_at'
  | 'interruptions'
  | 'audit_order'
  | 'marker_keys'
  | 'budgets_purged_to'
  | 'subjects_purged_to'
  | 'deliveries_read'
  | 'quiet_looked_to'
  /** Of a SQLite store that was moved: where to. Such a store can no longer be opened. */
  | 'moved_to'
  /** Of a PostgreSQL store: a move into it that has not finished, or where it was moved from. */
  | 'move'
  | 'moved_from'

export function* readState(key: StateKey): Verb<string | null> {
  const [row] = yield sql`SELECT value FROM store_state WHERE key = ${key}`
  return row === undefined ? null : (row['value'] as string)
}

/** Several in one query: every server reads them every second. */
export function* readStates<K extends StateKey>(
  ...keys: readonly K[]
): Verb<Readonly<Record<K, string | null>>> {
  const rows = yield sql`SELECT key, value FROM store_state WHERE key IN (${join(keys)})`
  const values = new Map(rows.map((row) => [row['key'], row['value'] as string]))
  const read = keys.map((key) => [key, values.get(key) ?? null] as const)
  return Object.fromEntries(read) as Record<K, string | null>
}

/** Writes the value if there is none; answers the stored value. */
export function* writeStateOnce(key: StateKey, value: string): Verb<string> {
  yield sql`INSERT INTO store_state (key, value) VALUES (${key}, ${value})
    ON CONFLICT (key) DO NOTHING`
  return (yield* readState(key)) ?? value
}

/** The stored value, or `first`. Nobody else can write it before this transaction ends. */
export function* lockState(key: StateKey, first: string): Verb<string> {
  const [row] = yield sql`INSERT INTO store_state (key, value) VALUES (${key}, ${first})
    ON CONFLICT (key) DO UPDATE SET value = store_state.value RETURNING value`
  return (row?.['value'] ?? first) as string
}

export function* writeState(key: StateKey, value: string): Verb<void> {
  yield sql`INSERT INTO store_state (key, value) VALUES (${key}, ${value})
    ON CONFLICT (key) DO UPDATE SET value = excluded.value`
}
