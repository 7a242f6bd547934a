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
  /** `patienceMs`: how long contention is waited out; the driver's own patience by default. */
  transact<T>(makeVerb: () => Verb<T>, patienceMs?: number): Promise<T>
  /** For verbs that only read. Sees everything committed before the call. */
  read<T>(makeVerb: () => Verb<T>): Promise<T>
  ping(): Promise<void>
  close(): Promise<void>
}

/** Where the two databases differ, by name. */
export interface Dialect {
  readonly name: 'sqlite' | 'postgres'
  /** Ends a SELECT of candidates: lock what is free, pass over what another transaction holds. */
  lockFree(table: string): Sql
  /** Ends a SELECT whose rows must not change before this transaction ends. */
  readonly keepUnchanged: Sql
  /** Whether a statement is a journey: then a batch has a size that needs few of them. */
  readonly statementsTravel: boolean
  /** The column of `audit` that grows in the order of commits. */
  readonly auditOrder: Sql
  /** Whether it is filled after the commit. Where only one writes at a time, ids are in order. */
  readonly placesAudits: boolean
}

/** Told how many one commit (`group`), or one set of statements (`batch`), is about to carry. */
export type OnTogether = (kind: 'group' | 'batch', count: number) => void

/**
 * Told each time a verb could not be done because others held or changed what it needed: `again`
 * when it is tried once more, `given_up` when the caller is told.
 */
export type OnRepeat = (what: 'again' | 'given_up', cause: unknown) => void

/** A compare-and-set found that somebody else was faster. Drivers run the verb again. */
export class LostRace extends Error {}

/** Drives a verb against statements that answer at once. */
export function driveNow<T>(verb: Verb<T>, query: (statement: Sql) => readonly object[]): T {
  let step = verb.next()
  while (step.done !== true) {
    step = verb.next(query(step.value) as readonly Readonly<Record<string, unknown>>[])
  }
  return step.value
}
