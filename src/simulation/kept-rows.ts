/**
 * Keeps a copy of every row that a purge removes, and of every version of a step. The rules check
 * those rows too: the output of a purged run on GitHub must stay right although the store has
 * forgotten it, and a recorded result of a step must never change.
 */
import type { SharedMemory } from '../open-store.ts'

const tables = ['run', 'delivery', 'delivery_attempt', 'step'] as const
export type PurgedTable = (typeof tables)[number]

/** Starts keeping copies, and drops those of the seed before. */
export async function keepRows(memory: SharedMemory): Promise<void> {
  for (const table of tables) {
    await memory.select(`CREATE TEMP TABLE IF NOT EXISTS ${purgedTableName(table)} AS
      SELECT * FROM ${table} WHERE false`)
    await memory.select(`CREATE TEMP TRIGGER IF NOT EXISTS keep_${table}
      AFTER DELETE ON main.${table} BEGIN
      INSERT INTO ${purgedTableName(table)} VALUES (${await columnsOf(memory, table)}); END`)
    await memory.select(`DELETE FROM ${purgedTableName(table)}`)
  }
  await keepStepVersions(memory)
}

export const stepVersionsName = 'step_version'

async function keepStepVersions(memory: SharedMemory): Promise<void> {
  const columns = ['run_id', 'round', 'name', 'state', 'fence', 'start_id', 'result', 'error_code']
  await memory.select(`CREATE TEMP TABLE IF NOT EXISTS ${stepVersionsName} AS
    SELECT ${columns.join()} FROM step WHERE false`)
  for (const event of ['INSERT', 'UPDATE']) {
    await memory.select(`CREATE TEMP TRIGGER IF NOT EXISTS keep_step_${event}
      AFTER ${event} ON main.step BEGIN INSERT INTO ${stepVersionsName}
      VALUES (${columns.map((column) => `NEW.${column}`).join()}); END`)
  }
  await memory.select(`DELETE FROM ${stepVersionsName}`)
}

export const purgedTableName = (table: PurgedTable): string => `purged_${table}`

async function columnsOf(memory: SharedMemory, table: PurgedTable): Promise<string> {
  const columns = await memory.select(`SELECT name FROM pragma_table_info('${table}')`)
  return columns.map(({ name }) => `OLD.${String(name)}`).join()
}
