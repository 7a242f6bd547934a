/**
 * The SQLite store that is moved.
 *
 * What must hold: from `freeze` to `mark` nothing else can write to the file, because one write
 * transaction is open all the time. What is read meanwhile is one moment of the store, and the mark
 * is committed with that same transaction: no write of another process can be in between and be
 * lost. If this process dies, SQLite rolls the transaction back and the file is as it was.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Clock } from '../../clock.ts'
import { execActor } from '../../domain/audit.ts'
import type { ConflictError } from '../../errors.ts'
import { SetupError } from '../../errors.ts'
import type { Random } from '../../random.ts'
import { mapSqliteError } from '../drivers/sqlite-errors.ts'
import { openFile, type SqliteFile } from '../drivers/sqlite-file.ts'
import { migrateSqlite } from '../drivers/sqlite-schema.ts'
import { loadMigrations } from '../migrations.ts'
import type { SourceColumn, TablePlan } from './copy-plan.ts'
import { selectFromSource, type Key } from './copy-statements.ts'
import type { MovedTo } from './marks.ts'
import { movedError } from './marks.ts'
import { storable, type Value } from './row-values.ts'

/** How long a program that embeds the library may take for a write that it has begun. */
const busyMsMax = 10_000

export interface SourceRow {
  readonly values: readonly Value[]
  /** How many of them had characters that PostgreSQL cannot store. */
  readonly replaced: number
}

/** A run that an `exec` holds which works directly on the file. */
export interface ExecRun {
  readonly id: string
  readonly type: string
  readonly subject: string
  readonly leaseEndsAt: number
}

/** What has to be the same when a move is continued. */
export interface Fingerprint {
  readonly source: string
  readonly audit: number
  readonly alive: number | null
}

export class MoveSource {
  readonly #file: SqliteFile
  readonly #db: DatabaseSync
  readonly #clock: Clock

  /** Takes the lock of a server, so that none can start meanwhile. Brings the schema up to date. */
  constructor(path: string, machine: { readonly clock: Clock; readonly random: Random }) {
    const { clock, random } = machine
    const prepare = (db: DatabaseSync): void => {
      db.exec(`PRAGMA busy_timeout = ${busyMsMax}`)
      // The schema of a store that was moved stays as it is.
      if (stateOf(db, 'moved_to') !== null) return
      migrateSqlite(db, loadMigrations('sqlite'), clock.wallMs())
      db.prepare(
        "INSERT INTO store_state (key, value) VALUES ('store_id', ?) ON CONFLICT DO NOTHING",
      ).run(random.bytes(16).toString('hex'))
    }
    this.#file = openAlone(path, prepare, random)
    this.#db = this.#file.writer
    this.#clock = clock
  }

  get movedTo(): MovedTo | null {
    const stored = stateOf(this.#db, 'moved_to')
    return stored === null ? null : (JSON.parse(stored) as MovedTo)
  }

  get movedError(): ConflictError {
    return movedError(stateOf(this.#db, 'moved_to') ?? '')
  }

  get storeId(): string {
    return stateOf(this.#db, 'store_id') ?? ''
  }

  /** The newest migration that was applied. */
  get schema(): number {
    const row = this.#db.prepare('SELECT max(version) AS newest FROM migration').get()
    return Number(row?.['newest'])
  }

  fingerprint(): Fingerprint {
    const alive = stateOf(this.#db, 'alive_at')
    return {
      source: this.storeId,
      audit: this.counters().get('audit') ?? 0,
      alive: alive === null ? null : Number(alive),
    }
  }

  /** From here on no other process can write to the file. */
  freeze(): void {
    try {
      this.#db.exec('BEGIN IMMEDIATE')
    } catch (error) {
      throw mapSqliteError(error)
    }
  }

  /** A run's fence is the audit row of its newest holder. */
  runsOfExec(): readonly ExecRun[] {
    const rows = this.#db
      .prepare(
        `SELECT run.id, run.type, run.subject, run.repo, run.pr, run.lease_expires_at AS ends
        FROM run JOIN audit ON audit.id = run.fence
        WHERE run.state = 'running' AND run.lease_expires_at > ? AND audit.actor = ?
        ORDER BY run.lease_expires_at, run.id`,
      )
      .all(this.#clock.wallMs(), execActor)
    return rows.map(({ id, type, subject, repo, pr, ends }) => ({
      id: String(id),
      type: String(type),
      subject: pr === null ? String(subject) : `${String(repo)}#${String(pr)}`,
      leaseEndsAt: Number(ends),
    }))
  }

  columns(): readonly SourceColumn[] {
    return this.#db
      .prepare(
        `SELECT t.name AS "table", c.name AS name, c.type AS type, c.pk AS place
        FROM sqlite_schema t, pragma_table_info(t.name) c
        WHERE t.type = 'table' AND substr(t.name, 1, 7) <> 'sqlite_' ORDER BY t.name, c.cid`,
      )
      .all() as unknown as SourceColumn[]
  }

  /** The highest number that each table with numbered rows ever gave, even if its row is gone. */
  counters(): ReadonlyMap<string, number> {
    const rows = this.#db.prepare('SELECT name, seq FROM sqlite_sequence').all()
    return new Map(rows.map((row) => [String(row['name']), Number(row['seq'])]))
  }

  /** Everything that the store knows about itself. */
  states(): readonly (readonly [key: string, value: string])[] {
    const rows = this.#db.prepare('SELECT key, value FROM store_state ORDER BY key').all()
    return rows.map((row) => [String(row['key']), String(row['value'])])
  }

  count({ name }: TablePlan): number {
    return Number(this.#db.prepare(`SELECT count(*) AS n FROM "${name}"`).get()?.['n'])
  }

  /** In the order of the key, after the row with the key `after`. */
  *rows(table: TablePlan, after: Key): Generator<SourceRow> {
    const { text, params } = selectFromSource(table, after)
    const statement = this.#db.prepare(text)
    statement.setReturnArrays(true)
    try {
      for (const row of statement.iterate(...params)) {
        yield storable(table, row as unknown as Value[])
      }
    } catch (error) {
      throw mapSqliteError(error)
    }
  }

  /** Marks the store as moved. It cannot be opened again. */
  mark(mark: Omit<MovedTo, 'at'>): void {
    if (!this.#db.isTransaction) throw new Error('only a frozen store can be marked')
    try {
      this.#writeMark({ ...mark, at: this.#clock.wallMs() })
      this.#db.exec('COMMIT')
    } catch (error) {
      throw mapSqliteError(error)
    }
  }

  noteUndo(undoing: boolean): void {
    const mark = this.movedTo
    if (mark === null) return
    const { undoing: _before, ...moved } = mark
    this.#writeMark(undoing ? { ...moved, undoing: true } : moved)
  }

  clearMark(): void {
    this.#db.exec("DELETE FROM store_state WHERE key = 'moved_to'")
  }

  close(): void {
    if (this.#db.isTransaction) this.#db.exec('ROLLBACK')
    this.#file.reader?.close()
    this.#db.close()
    this.#file.release()
  }

  #writeMark(mark: MovedTo): void {
    this.#db
      .prepare(
        `INSERT INTO store_state (key, value) VALUES ('moved_to', ?)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
      )
      .run(JSON.stringify(mark))
  }
}

/** Null in a database that has no such table yet. */
function stateOf(db: DatabaseSync, key: string): string | null {
  const isNew =
    db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'store_state'").get() === undefined
  if (isNew) return null
  const row = db.prepare('SELECT value FROM store_state WHERE key = ?').get(key)
  return row === undefined ? null : String(row['value'])
}

function openAlone(path: string, prepare: (db: DatabaseSync) => void, random: Random): SqliteFile {
  try {
    return openFile(path, true, prepare, random)
  } catch (error) {
    if (!(error instanceof SetupError) || error.code !== 'store_in_use') throw error
    throw new SetupError('store_in_use', `a server, or another move, uses ${path}`, {
      hint: 'Stop it first. A store is moved while nothing uses it.',
      cause: error,
    })
  }
}
