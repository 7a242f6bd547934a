/**
 * What a database driver must give the one SQL implementation.
 *
 * `transact` runs a verb as one atomic unit and resolves after its commit is durable. It may run
 * the verb more than once (busy, deadlock, lost race), each time from a fresh generator; only the
 * last run's effects exist. A verb that throws leaves nothing behind.
 */
import type { Sql, Verb } from './sql.ts'

export interface Driver {
  readonly dialect: Dialect
  now(): number
  /** `patienceMs`: how long to wait while others hold locks. Default: the driver's own limit. */
  transact<T>(makeVerb: () => Verb<T>, patienceMs?: number): Promise<T>
  /** For verbs that only read. Sees everything committed before the call. */
  read<T>(makeVerb: () => Verb<T>): Promise<T>
  ping(): Promise<void>
  close(): Promise<void>
}

/** Where the two databases differ, by name. */
export interface Dialect {
  readonly name: 'sqlite' | 'postgres'
  /**
   * Ends a SELECT of candidates: locks free rows and skips rows that another transaction has
   * locked.
   */
  lockFree(table: string): Sql
  /** Ends a SELECT whose rows must not change before this transaction ends. */
  readonly keepUnchanged: Sql
  /** The same for rows that this transaction may change. */
  readonly keepForUpdate: Sql
  /** Nobody else writes from the start of a transaction to its end. */
  readonly hasOneWriter: boolean
  /**
   * Rows of a table from one JSON text, so that one statement updates many rows. Null where a
   * statement for each row is as fast.
   */
  readonly rowsFromJson: RowsFromJson | null
  /** Each statement is a round trip to a server, so a batch should need few of them. */
  readonly needsRoundTrips: boolean
  /** The column of `audit` that grows in the order of commits. */
  readonly auditOrder: Sql
  /**
   * That column is filled after the commit. SQLite has one writer at a time, so its ids are already
   * in order.
   */
  readonly numbersAuditsLater: boolean
}

export type RowsFromJson = (table: string, json: string) => Sql

/** Called with the size of each commit (`group`) and of each set of statements (`batch`). */
export type OnBatch = (kind: 'group' | 'batch', count: number) => void

/**
 * Called when a verb could not be done because others held or changed what it needed: `again` when
 * it is tried once more, `given_up` when the caller gets the error.
 */
export type OnRepeat = (what: 'again' | 'given_up', cause: unknown) => void

/** A compare-and-set found that somebody else was faster. Drivers run the verb again. */
export class LostRace extends Error {}

/** Runs a verb whose statements are answered synchronously. */
export function driveNow<T>(verb: Verb<T>, query: (statement: Sql) => readonly object[]): T {
  let step = verb.next()
  while (step.done !== true) {
    step = verb.next(query(step.value) as readonly Readonly<Record<string, unknown>>[])
  }
  return step.value
}
