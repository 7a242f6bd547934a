/** Where a server of a scenario keeps its data: its own folder and its own database. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { freshDatabase } from '../postgres/fresh-database.ts'

export interface ServerData {
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  /** Runs a statement directly on the database, to cause what only time or an accident would. */
  tamper(statement: string): Promise<void>
  remove(): Promise<void>
}

export type MakeServerData = () => Promise<ServerData>

const newFolder = (): string => mkdtempSync(join(tmpdir(), 'holdfast-scenario-'))

async function onSqlite(): Promise<ServerData> {
  const folder = newFolder()
  return {
    folder,
    env: { HOLDFAST_DATA_DIR: folder },
    tamper: async (statement) => {
      const db = new DatabaseSync(join(folder, 'holdfast.db'), { timeout: 5000 })
      db.exec(statement)
      db.close()
    },
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

export async function onPostgres(): Promise<ServerData> {
  const folder = newFolder()
  const database = await freshDatabase()
  return {
    folder,
    env: { HOLDFAST_DATA_DIR: folder, HOLDFAST_DATABASE_URL: database.url },
    tamper: async (statement) => {
      const client = new pg.Client({ connectionString: database.url })
      await client.connect()
      await client.query(`SET search_path = holdfast; ${statement}`)
      await client.end()
    },
    remove: async () => {
      await database.drop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export const databases: readonly { readonly name: string; readonly makeData: MakeServerData }[] = [
  { name: 'SQLite', makeData: onSqlite },
  { name: 'PostgreSQL', makeData: onPostgres },
]

/** For scenarios in which the server must publish nothing. */
export function publishNothing({ folder }: ServerData): void {
  const config = 'export default { runs: { review: { anchor: false, status: false } } }\n'
  writeFileSync(join(folder, 'holdfast.config.ts'), config)
}
