/**
 * Keeps a copy of every row that a purge removes. The rules check those rows too: their output on
 * GitHub must stay right although the store has forgotten it.
 */
import type { SharedMemory } from '../open-store.ts'

const tables = ['run', 'delivery', 'delivery_attempt'] as const
export type PurgedTable = (typeof tables)[number]

/** Starts keeping copies, and drops those of the seed before. */
export async function keepPurgedRows(memory: SharedMemory): Promise<void> {
  for (const table of tables) {
    await memory.select(`CREATE TEMP TABLE IF NOT EXISTS ${purgedTableName(table)} AS
      SELECT * FROM ${table} WHERE false`)
    await memory.select(`CREATE TEMP TRIGGER IF NOT EXISTS keep_${table}
      AFTER DELETE ON main.${table} BEGIN
      INSERT INTO ${purgedTableName(table)} VALUES (${await columnsOf(memory, table)}); END`)
    await memory.select(`DELETE FROM ${purgedTableName(table)}`)
  }
}

export const purgedTableName = (table: PurgedTable): string => `purged_${table}`

async function columnsOf(memory: SharedMemory, table: PurgedTable): Promise<string> {
  const columns = await memory.select(`SELECT name FROM pragma_table_info('${table}')`)
  return columns.map(({ name }) => `OLD.${String(name)}`).join()
}
