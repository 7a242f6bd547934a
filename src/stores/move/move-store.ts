/**
 * Moves a SQLite store to PostgreSQL. Nothing may use either of them meanwhile.
 *
 *   freeze ─▶ begun ─▶ copying ─▶ verified ─▶ copied ─▶ marked ─▶ released
 *   source    record   batches                states    source    target
 *             in the   in the                 in the    moved_to  moved_from
 *             target   target                 target
 *
 * Every arrow is one commit, or none. What a process that dies leaves behind:
 *
 *   before begun      an empty target; the source is as it was
 *   until copied      a target that cannot be opened. The same command continues, if the source is
 *                     still the same. A server may also start on the source again; then the copy
 *                     is out of date, and only `--undo` removes it
 *   until marked      the same, but only the mark is missing
 *   until released    neither can be opened. The same command releases the target
 *
 * What must hold: never can both be opened (see `marks`), and what is in the target was compared
 * with the source, row by row, in the transaction that marked the source.
 */
import type { Clock } from '../../clock.ts'
import { SetupError } from '../../errors.ts'
import type { Random } from '../../random.ts'
import type { Scheduler } from '../../scheduler.ts'
import type { PostgresDriver } from '../drivers/postgres.ts'
import { loadMigrations, missingMigrations } from '../migrations.ts'
import { openPostgresDriver } from '../open-postgres.ts'
import { planCopy, type TablePlan } from './copy-plan.ts'
import type { MovedFrom, MoveRecord, TableReport } from './marks.ts'
import { rowBatches } from './row-batches.ts'
import { rowsAsJson } from './row-values.ts'
import { MoveSource } from './source.ts'
import { lockTarget } from './target-lock.ts'
import { lookAtTarget, targetColumns, type TargetLook } from './target-look.ts'
import { beginMove, completeCopy, releaseTarget, storeBatch } from './target-verbs.ts'
import { reportSource, verifyTable } from './verify-copy.ts'

export interface MoveOptions {
  /** The SQLite file. */
  readonly path: string
  /** The target, and the same address without its password, for people. */
  readonly url: string
  readonly to: string
  readonly clock: Clock
  readonly random: Random
  readonly scheduler: Scheduler
  readonly onProgress?: (progress: MoveProgress) => void
}

export type MoveProgress =
  | { readonly what: 'begun' | 'copied' | 'marked' | 'released' }
  | {
      readonly what: 'copying' | 'verifying'
      readonly table: string
      readonly rows: number
      readonly of: number
    }

export interface MoveAnswer {
  /** `already`: an earlier move had finished. */
  readonly outcome: 'moved' | 'already'
  readonly storeId: string
  readonly movedAt: number
  readonly tables: readonly TableReport[]
  /** How many texts had characters that PostgreSQL cannot store. */
  readonly replaced: number
}

export async function moveStore(options: MoveOptions): Promise<MoveAnswer> {
  const unlock = await lockTarget(options.url)
  try {
    const look = await withTarget(options, 'never', (driver) => driver.read(lookAtTarget))
    missingMigrations(loadMigrations('postgres'), look.applied)
    if (look.record === null && look.movedFrom === null) refuseFilled(look)
    const source = new MoveSource(options.path, options)
    try {
      if (source.movedTo !== null) return await finishMarked(source, look, options)
      source.freeze()
      return await moveFrozen(source, look, options)
    } finally {
      source.close()
    }
  } finally {
    await unlock()
  }
}

async function moveFrozen(
  source: MoveSource,
  look: TargetLook,
  options: MoveOptions,
): Promise<MoveAnswer> {
  const { record } = look
  if (record === null) refuseFilled(look)
  else refuseOtherMove(record, source)
  return await withTarget(options, record === null ? 'always' : 'never', async (driver) => {
    const plan = planCopy(source.columns(), await driver.read(targetColumns))
    const move = new Move(source, driver, plan, options)
    const begun = record ?? (await move.begin())
    const copied = begun.state === 'copied' ? move.compareAgain(begun) : await move.copy(begun)
    source.mark({ move: copied.move, to: options.to })
    options.onProgress?.({ what: 'marked' })
    return answerOf('moved', await release(driver, copied, options))
  })
}

/** An earlier try has marked the source, or has finished. */
async function finishMarked(
  source: MoveSource,
  { record, movedFrom }: TargetLook,
  options: MoveOptions,
): Promise<MoveAnswer> {
  const { movedTo } = source
  if (movedTo?.move === movedFrom?.move && movedFrom !== null) return answerOf('already', movedFrom)
  const isOurs = movedTo?.undoing !== true && record?.move === movedTo?.move
  if (!isOurs || record?.state !== 'copied') throw source.movedError
  refuseOtherSchema(record)
  return await withTarget(options, 'never', async (driver) =>
    answerOf('moved', await release(driver, record, options)),
  )
}

async function release(
  driver: PostgresDriver,
  record: MoveRecord,
  { onProgress }: MoveOptions,
): Promise<MovedFrom> {
  const movedFrom = await driver.transact(() => releaseTarget(record, driver.now()))
  onProgress?.({ what: 'released' })
  return movedFrom
}

function answerOf(outcome: MoveAnswer['outcome'], movedFrom: MovedFrom): MoveAnswer {
  const { source, at, tables, replaced } = movedFrom
  return { outcome, storeId: source, movedAt: at, tables, replaced }
}

export async function withTarget<T>(
  options: Pick<MoveOptions, 'url' | 'clock' | 'random' | 'scheduler'>,
  migrate: 'always' | 'never',
  work: (driver: PostgresDriver) => Promise<T>,
): Promise<T> {
  const { url, clock, random, scheduler } = options
  const driver = await openPostgresDriver(url, { clock, random, scheduler }, migrate)
  try {
    return await work(driver)
  } finally {
    await driver.close()
  }
}

/** From an empty target, or one that an earlier try has filled in part, to a complete copy. */
class Move {
  readonly #source: MoveSource
  readonly #driver: PostgresDriver
  readonly #plan: readonly TablePlan[]
  readonly #options: MoveOptions

  constructor(
    source: MoveSource,
    driver: PostgresDriver,
    plan: readonly TablePlan[],
    options: MoveOptions,
  ) {
    this.#source = source
    this.#driver = driver
    this.#plan = plan
    this.#options = options
  }

  async begin(): Promise<MoveRecord> {
    const { random, clock } = this.#options
    const record: MoveRecord = {
      move: random.bytes(8).toString('hex'),
      ...this.#source.fingerprint(),
      schema: this.#source.schema,
      begunAt: clock.wallMs(),
      state: 'copying',
      ...{ table: null, after: [], rows: 0, replaced: 0, tables: [] },
    }
    await this.#driver.transact(() => beginMove(record))
    this.#report({ what: 'begun' })
    return record
  }

  async copy(begun: MoveRecord): Promise<MoveRecord> {
    let record = begun
    for (const table of this.#plan) {
      // Tables are copied in the order of their names.
      if (record.table === null || table.name >= record.table) {
        record = await this.#copyTable(table, record)
      }
    }
    const tables: TableReport[] = []
    for (const table of this.#plan) tables.push(await this.#verify(table))
    const copied: MoveRecord = { ...record, state: 'copied', tables }
    const facts = {
      plan: this.#plan,
      states: this.#source.states(),
      counters: this.#source.counters(),
    }
    await this.#driver.transact(() => completeCopy(record, copied, facts))
    this.#report({ what: 'copied' })
    return copied
  }

  /** An earlier try had copied everything. It counts if the source is still the same. */
  compareAgain(copied: MoveRecord): MoveRecord {
    const now = this.#plan.map((table) => reportSource(this.#source, table))
    if (JSON.stringify(now) !== JSON.stringify(copied.tables)) throw sourceChanged(copied)
    return copied
  }

  async #copyTable(table: TablePlan, before: MoveRecord): Promise<MoveRecord> {
    const { name } = table
    const of = this.#source.count(table)
    const isContinued = before.table === name
    let record = isContinued ? before : { ...before, table: name, after: [], rows: 0 }
    // The record in the target changes only with rows.
    let stored = before
    for (const batch of rowBatches(table, this.#source.rows(table, record.after))) {
      const count = batch.rows.length
      const next: MoveRecord = {
        ...record,
        after: batch.last,
        rows: record.rows + count,
        replaced: record.replaced + batch.replaced,
      }
      const sent = { rows: rowsAsJson(table, batch.rows), count }
      await this.#driver.transact(() => storeBatch(table, sent, stored, next))
      record = next
      stored = next
      this.#report({ what: 'copying', table: name, rows: record.rows, of })
    }
    return stored
  }

  async #verify(table: TablePlan): Promise<TableReport> {
    const of = this.#source.count(table)
    return await verifyTable(this.#source, this.#driver, table, (rows) =>
      this.#report({ what: 'verifying', table: table.name, rows, of }),
    )
  }

  #report(progress: MoveProgress): void {
    this.#options.onProgress?.(progress)
  }
}

function refuseFilled({ filled }: TargetLook): void {
  if (filled === null) return
  throw new SetupError(
    'target_not_empty',
    `the target is not empty: its table ${filled} has rows`,
    { hint: 'Move into a new database: createdb NAME. Or did you mean another one?' },
  )
}

function refuseOtherMove(record: MoveRecord, source: MoveSource): void {
  const now = source.fingerprint()
  if (record.source !== now.source) {
    throw new SetupError(
      'target_not_empty',
      'a move of another store into this database has not finished',
      { hint: 'Use a new database: createdb NAME. Or give that move up with --undo, there.' },
    )
  }
  refuseOtherSchema(record)
  if (record.audit !== now.audit || record.alive !== now.alive) throw sourceChanged(record)
}

function refuseOtherSchema({ schema }: MoveRecord): void {
  const newest = loadMigrations('postgres').at(-1)?.version
  if (schema === newest) return
  throw new SetupError(
    'move_version',
    `the move was begun with schema ${schema}, but this program has ${newest}`,
    {
      hint:
        'Finish it with the version of Holdfast that began it. Or give the copy up with --undo, ' +
        'and move again.',
    },
  )
}

function sourceChanged({ begunAt }: MoveRecord): SetupError {
  const since = new Date(begunAt).toISOString()
  return new SetupError(
    'source_changed',
    `the SQLite store was used since the move was begun at ${since}, so the copy is out of date`,
    { hint: 'Give the copy up with --undo, and move again. Or move into a new database.' },
  )
}
