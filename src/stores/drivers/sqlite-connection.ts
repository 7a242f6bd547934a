/** A connection to SQLite with its prepared statements. Answers each in the form it asks for. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Sql } from '../sql.ts'
import { InsertRows } from '../sql.ts'

export class Connection {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()
  readonly #forValues = new Map<string, StatementSync>()

  constructor(db: DatabaseSync) {
    this.#db = db
  }

  readonly query = (statement: Sql): readonly object[] => {
    if (statement instanceof InsertRows) return statement.pieces.flatMap(this.query)
    const { text, params, answer } = statement
    if (answer === 'values') return this.#prepareForValues(text).all(...params)
    const prepared = this.#prepare(text)
    return answer === 'count'
      ? [{ changed: prepared.run(...params).changes }]
      : prepared.all(...params)
  }

  exec(text: string): void {
    this.#prepare(text).run()
  }

  get inTransaction(): boolean {
    return this.#db.isTransaction
  }

  rollback(): void {
    if (this.#db.isTransaction) this.exec('ROLLBACK')
  }

  #prepare(text: string): StatementSync {
    let statement = this.#statements.get(text)
    if (statement === undefined) {
      statement = this.#db.prepare(plannedOnce(text))
      this.#statements.set(text, statement)
    }
    return statement
  }

  #prepareForValues(text: string): StatementSync {
    let statement = this.#forValues.get(text)
    if (statement === undefined) {
      statement = this.#db.prepare(plannedOnce(text))
      statement.setReturnArrays(true)
      this.#forValues.set(text, statement)
    }
    return statement
  }
}

/**
 * SQLite plans a statement anew for every value of a plain `LIMIT ?`, which takes longer than most
 * statements. It does not look into an expression.
 */
const plannedOnce = (text: string): string => text.replaceAll('LIMIT ?', 'LIMIT (? + 0)')
