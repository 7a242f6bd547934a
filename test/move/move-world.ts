/** A SQLite store in its own folder, and an empty PostgreSQL database to move it into. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterEach, beforeEach } from 'vitest'
import { systemClock, type Clock } from '../../src/clock.ts'
import type { Store } from '../../src/store.ts'
import type { Row } from '../../src/stores/sql.ts'
import type { MoveAnswer, MoveOptions } from '../../src/stores/move/move-terms.ts'
import type { MoveProgress, UndoAnswer } from '../../src/stores/move/move-terms.ts'
import { moveStore } from '../../src/stores/move/move-store.ts'
import { undoMove } from '../../src/stores/move/undo-move.ts'
import { openPostgres } from '../../src/stores/open-postgres.ts'
import { openSqlite } from '../../src/stores/open-sqlite.ts'
import { machineWith } from '../conformance/world.ts'
import { freshDatabase, type TestDatabase } from '../postgres/fresh-database.ts'
import { fillStore, type Filled } from './filled-store.ts'

export class MoveWorld {
  readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-move-'))
  readonly path = join(this.folder, 'holdfast.db')
  readonly database: TestDatabase
  readonly #open: Store[] = []

  private constructor(database: TestDatabase) {
    this.database = database
  }

  static async make(): Promise<MoveWorld> {
    return new MoveWorld(await freshDatabase())
  }

  /** Opens the SQLite store, as a server does unless `serves` is false. */
  source(clock: Clock = systemClock, serves = true): Store {
    const store = openSqlite({ path: this.path, exclusive: serves }, machineWith(clock))
    this.#open.push(store)
    return store
  }

  /** Fills the SQLite store, as a server does, and closes it. */
  async fill(): Promise<Filled> {
    const store = this.source()
    try {
      return await fillStore(store)
    } finally {
      await store.close()
    }
  }

  /** Opens the store in PostgreSQL. */
  async target(clock: Clock = systemClock): Promise<Store> {
    const store = await openPostgres(this.database.url, machineWith(clock))
    this.#open.push(store)
    return store
  }

  get options(): MoveOptions {
    const { clock, random, scheduler } = machineWith(systemClock)
    const to = 'postgres://db.test/holdfast'
    return { path: this.path, url: this.database.url, to, clock, random, scheduler }
  }

  move(onProgress: (progress: MoveProgress) => void = () => undefined): Promise<MoveAnswer> {
    return moveStore({ ...this.options, onProgress })
  }

  /** Lets the move die after it reported this. Returns what it reported until then. */
  async dieAt(isHere: (step: MoveProgress) => boolean): Promise<readonly MoveProgress[]> {
    const death = new Error('the process died')
    const steps: MoveProgress[] = []
    const ended = await this.move((step) => {
      steps.push(step)
      if (isHere(step)) throw death
    }).catch((error: unknown) => error)
    if (ended !== death) throw new Error('it did not die there', { cause: ended })
    return steps
  }

  undo(): Promise<UndoAnswer> {
    return undoMove(this.options)
  }

  /** Whether each of the two can be opened as a store. */
  async openable(): Promise<{ readonly source: boolean; readonly target: boolean }> {
    const found = { source: false, target: false }
    try {
      await this.source().close()
      found.source = true
    } catch {
      // It was moved.
    }
    try {
      await (await this.target()).close()
      found.target = true
    } catch {
      // It is not complete.
    }
    return found
  }

  /** Runs a statement directly on the SQLite file. */
  here(statement: string): readonly Row[] {
    const db = new DatabaseSync(this.path, { timeout: 100 })
    try {
      return db.prepare(statement).all()
    } finally {
      db.close()
    }
  }

  /** Runs a statement directly on PostgreSQL. */
  async there(statement: string): Promise<readonly Row[]> {
    const client = new pg.Client({
      connectionString: this.database.url,
      options: '-c search_path=holdfast',
    })
    await client.connect()
    try {
      return (await client.query<Row>(statement)).rows
    } finally {
      await client.end()
    }
  }

  async close(): Promise<void> {
    // A test may have closed some of them.
    await Promise.allSettled(this.#open.map((store) => store.close()))
    rmSync(this.folder, { recursive: true, force: true })
    await this.database.drop()
  }
}

export const at =
  (what: MoveProgress['what']) =>
  (step: MoveProgress): boolean =>
    step.what === what

/** A new world for each test. */
export function useMoveWorld(): () => MoveWorld {
  let world: MoveWorld | undefined
  beforeEach(async () => {
    world = await MoveWorld.make()
  })
  afterEach(() => world?.close())
  return () => {
    if (world === undefined) throw new Error('a world is there while a test runs')
    return world
  }
}
