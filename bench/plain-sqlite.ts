/**
 * What somebody would write with node:sqlite alone. It has the same durability and settings as our
 * own connection, prepares every statement once, and runs one transaction after another.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { ClaimStatements } from './recording.ts'

export class PlainSqlite {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(path: string) {
    this.#db = new DatabaseSync(path)
    this.#db.exec('PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY')
    this.#db.exec('PRAGMA cache_size = -65536')
  }

  transaction<T>(work: () => T): T {
    this.#prepare('BEGIN IMMEDIATE').run()
    const result = work()
    this.#prepare('COMMIT').run()
    return result
  }

  replay(claim: ClaimStatements): void {
    for (const { text, params } of claim) this.#prepare(text).all(...params)
  }

  close(): void {
    this.#db.close()
  }

  #prepare(text: string): StatementSync {
    let statement = this.#statements.get(text)
    if (statement === undefined) {
      statement = this.#db.prepare(text)
      this.#statements.set(text, statement)
    }
    return statement
  }
}
