/**
 * The SQLite driver: one writer in this thread, and group commit.
 *
 * With `synchronous=FULL` a commit costs an fsync, which is slower than all its statements. So the
 * transactions that are queued in one turn of the event loop run as one group. Each has its own
 * savepoint, and all are answered after the one fsync that makes them durable.
 *
 * What must hold:
 *  - No member of a group is answered before the group's COMMIT, not even a member that failed: its
 *    decision used what the other members wrote.
 *  - A failing member undoes its own savepoint and nothing else.
 *  - If SQLite ends the transaction itself, for example because the disk is full, or if COMMIT
 *    fails, the whole group is rolled back. Every member then runs again alone, from its start.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../clock.ts'
import { HoldfastError, StoreUnavailableError } from '../../errors.ts'
import type { Scheduler } from '../../scheduler.ts'
import type { Driver, OnRepeat, OnBatch } from '../driver.ts'
import { driveNow, LostRace } from '../driver.ts'
import type { Verb } from '../sql.ts'
import { raw } from '../sql.ts'
import { Connection } from './sqlite-connection.ts'
import { isBusy, mapSqliteError } from './sqlite-errors.ts'

/** Limits how long one group blocks the event loop. */
const groupMax = 256
/**
 * A transaction that follows from an answered one may come a turn later than others, because its
 * requests are batched first.
 */
const quietTurnsMin = 2
const gatherTurnsMax = 10
const busyRetryMs = 10
const busyPatienceMs = 10_000
const triesMax = 5

interface Member {
  readonly run: () => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

type MemberOutcome = { readonly value: unknown } | { readonly error: unknown }

export interface SqliteDriverOptions {
  readonly writer: DatabaseSync
  /** Null for a database in memory, because only its own connection can see it. */
  readonly reader: DatabaseSync | null
  readonly clock: Clock
  readonly scheduler: Scheduler
  /** Throws if the store may no longer be written. Called at the start of every transaction. */
  readonly refuseWrites?: (() => void) | undefined
  readonly onClose: () => void
  readonly onBatch?: OnBatch
  readonly onRepeat?: OnRepeat
}

export class SqliteDriver implements Driver {
  readonly dialect = {
    name: 'sqlite',
    lockFree: () => raw(''),
    keepUnchanged: raw(''),
    keepForUpdate: raw(''),
    hasOneWriter: true,
    rowsFromJson: null,
    auditOrder: raw('id'),
    numbersAuditsLater: false,
    needsRoundTrips: false,
  } as const
  readonly #options: SqliteDriverOptions
  readonly #writer: Connection
  readonly #reader: Connection
  #queue: Member[] = []
  #flushPlanned = false
  #busySince: number | null = null
  #closed = false
  #closing: Promise<void> | null = null

  constructor(options: SqliteDriverOptions) {
    this.#options = options
    this.#writer = new Connection(options.writer)
    this.#reader = options.reader === null ? this.#writer : new Connection(options.reader)
  }

  now(): number {
    return this.#options.clock.wallMs()
  }

  transact<T>(makeVerb: () => Verb<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#closed) return reject(closedError())
      this.#queue.push({
        run: () => driveNow(makeVerb(), this.#writer.query),
        resolve: resolve as (value: unknown) => void,
        reject,
      })
      this.#planFlush()
    })
  }

  // Async so that a failing read rejects rather than throws.
  async read<T>(makeVerb: () => Verb<T>): Promise<T> {
    if (this.#closed) throw closedError()
    try {
      return driveNow(makeVerb(), this.#reader.query)
    } catch (error) {
      throw mapSqliteError(error)
    }
  }

  async ping(): Promise<void> {
    await this.read(function* () {
      yield raw('SELECT 1')
    })
  }

  /** Commits the queued transactions, then closes the file. */
  close(): Promise<void> {
    this.#closing ??= this.#commitAndClose()
    return this.#closing
  }

  async #commitAndClose(): Promise<void> {
    while (this.#queue.length > 0) {
      await new Promise<void>((resolve) => this.#options.scheduler.after(1, resolve))
      this.#flush()
    }
    this.#closed = true
    this.#options.reader?.close()
    this.#options.writer.close()
    this.#options.onClose()
  }

  #planFlush(): void {
    if (this.#flushPlanned) return
    this.#flushPlanned = true
    this.#gather(0, 0, gatherTurnsMax)
  }

  /** Waits while turns of the event loop bring more transactions: a commit costs far more. */
  #gather(before: number, quietTurns: number, turnsLeft: number): void {
    this.#options.scheduler.soon(() => {
      const now = this.#queue.length
      const quiet = now > before ? 0 : quietTurns + 1
      if (quiet < quietTurnsMin && now < groupMax && turnsLeft > 1) {
        this.#gather(now, quiet, turnsLeft - 1)
        return
      }
      this.#flushPlanned = false
      this.#flush()
    })
  }

  #flush(): void {
    if (this.#queue.length === 0 || this.#closed) return
    const members = this.#queue.slice(0, groupMax)
    try {
      this.#begin()
    } catch (error) {
      return this.#waitOrRefuse(members, error)
    }
    this.#busySince = null
    this.#queue = this.#queue.slice(members.length)
    if (this.#queue.length > 0) this.#planFlush()
    this.#options.onBatch?.('group', members.length)
    const [first] = members
    if (first !== undefined && members.length === 1)
      return answerMember(first, this.#runOnly(first))
    const outcomes = this.#runGroup(members)
    members.forEach((member, i) => answerMember(member, outcomes?.[i] ?? this.#runAlone(member)))
  }

  /** From here on no other process can write, so what was checked stays true until the commit. */
  #begin(): void {
    this.#writer.exec('BEGIN IMMEDIATE')
    try {
      this.#options.refuseWrites?.()
    } catch (error) {
      this.#writer.rollback()
      throw error
    }
  }

  /** If another process is writing to the file, tries again soon, and gives up after a while. */
  #waitOrRefuse(members: readonly Member[], error: unknown): void {
    const now = this.#options.clock.monotonicMs()
    this.#busySince ??= now
    if (isBusy(error) && now - this.#busySince < busyPatienceMs) {
      if (this.#flushPlanned) return
      this.#flushPlanned = true
      this.#options.scheduler.after(busyRetryMs, () => {
        this.#flushPlanned = false
        this.#flush()
      })
      return
    }
    this.#busySince = null
    this.#queue = this.#queue.slice(members.length)
    if (!(error instanceof HoldfastError)) this.#options.onRepeat?.('given_up', error)
    for (const member of members) member.reject(mapSqliteError(error))
    if (this.#queue.length > 0) this.#planFlush()
  }

  /** Returns null if the group was rolled back, so that every member has to run alone. */
  #runGroup(members: readonly Member[]): readonly MemberOutcome[] | null {
    try {
      const outcomes: MemberOutcome[] = []
      for (const member of members) {
        const outcome = this.#runInSavepoint(member)
        if (outcome === null) return null
        outcomes.push(outcome)
      }
      this.#writer.exec('COMMIT')
      return outcomes
    } catch {
      this.#writer.rollback()
      return null
    }
  }

  /** Without a savepoint, for which SQLite would copy every page before its first change. */
  #runOnly(member: Member): MemberOutcome {
    let isDecided = false
    try {
      const value = member.run()
      isDecided = true
      this.#writer.exec('COMMIT')
      return { value }
    } catch (error) {
      const isUndone = isDecided || !this.#writer.inTransaction
      this.#writer.rollback()
      if (isUndone) return this.#runAlone(member)
      if (this.#mayRepeat(error, 1)) return this.#runAlone(member, 2)
      return { error: mapSqliteError(error) }
    }
  }

  #runInSavepoint(member: Member, tries = 1): MemberOutcome | null {
    this.#writer.exec('SAVEPOINT member')
    try {
      const value = member.run()
      this.#writer.exec('RELEASE member')
      return { value }
    } catch (error) {
      if (!this.#writer.inTransaction) return null
      this.#writer.exec('ROLLBACK TO member')
      this.#writer.exec('RELEASE member')
      if (this.#mayRepeat(error, tries)) return this.#runInSavepoint(member, tries + 1)
      return { error: mapSqliteError(error) }
    }
  }

  #runAlone(member: Member, tries = 1): MemberOutcome {
    try {
      this.#begin()
      const value = member.run()
      this.#writer.exec('COMMIT')
      return { value }
    } catch (error) {
      this.#writer.rollback()
      if (this.#mayRepeat(error, tries)) return this.#runAlone(member, tries + 1)
      return { error: mapSqliteError(error) }
    }
  }

  #mayRepeat(error: unknown, tries: number): boolean {
    if (!(error instanceof LostRace)) return false
    const isHopeless = tries >= triesMax
    this.#options.onRepeat?.(isHopeless ? 'given_up' : 'again', error)
    return !isHopeless
  }
}

function answerMember(member: Member, outcomes: MemberOutcome): void {
  if ('error' in outcomes) member.reject(outcomes.error)
  else member.resolve(outcomes.value)
}

const closedError = (): StoreUnavailableError =>
  new StoreUnavailableError('store_closed', 'the store is closed')
