/**
 * What the storm left in the tables, read as plain rows, so that the checks do not depend on the
 * code of the store.
 */
import type { Row, Verb } from '../../src/stores/sql.ts'
import { raw } from '../../src/stores/sql.ts'
import { openDriver, type Database } from './open-store.ts'

export interface AuditLine {
  readonly id: number
  readonly at: number
  readonly type: string
  readonly actor: string
  readonly runId: string | null
  readonly data: Readonly<Record<string, unknown>>
}

export interface Tables {
  readonly runs: readonly Row[]
  readonly subjects: readonly Row[]
  readonly audit: readonly AuditLine[]
}

export async function readTables(database: Database): Promise<Tables> {
  const driver = await openDriver(database)
  try {
    const all = (table: string): Promise<readonly Row[]> =>
      driver.read(function* (): Verb<readonly Row[]> {
        return yield raw(`SELECT * FROM ${table} ORDER BY id`)
      })
    const audit = await all('audit')
    return { runs: await all('run'), subjects: await all('subject'), audit: audit.map(lineOf) }
  } finally {
    await driver.close()
  }
}

function lineOf(row: Row): AuditLine {
  return {
    id: Number(row['id']),
    at: Number(row['at']),
    type: row['type'] as string,
    actor: row['actor'] as string,
    runId: row['run_id'] as string | null,
    data: JSON.parse(row['data'] as string) as Record<string, unknown>,
  }
}
