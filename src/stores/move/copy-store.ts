/**
 * Makes the copy in the target: the record first, then the rows of one table after the other, and
 * at the end what the store knows about itself. Continues where an earlier try has stopped.
 */
import type { PostgresDriver } from '../drivers/postgres.ts'
import type { TablePlan } from './copy-plan.ts'
import type { MoveRecord, TableReport } from './marks.ts'
import type { MoveOptions, MoveProgress } from './move-terms.ts'
import { sourceChanged } from './refuse-target.ts'
import { rowBatches } from './row-batches.ts'
import { rowsAsJson } from './row-values.ts'
import type { MoveSource } from './source.ts'
import { beginMove, completeCopy, storeBatch } from './target-verbs.ts'
import { reportSource, verifyTable } from './verify-copy.ts'

export class StoreCopy {
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

  /** Copies what is missing and compares everything. */
  async complete(begun: MoveRecord): Promise<MoveRecord> {
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
