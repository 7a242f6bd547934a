/** Migrations as numbers and texts, and on both real databases: all of them in order, or none. */
import { DatabaseSync } from 'node:sqlite'
import { Pool, TypeOverrides, types } from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { freshDatabase, type TestDatabase } from '../../test/postgres/fresh-database.ts'
import { migratePostgres } from './drivers/postgres-schema.ts'
import { migrateSqlite } from './drivers/sqlite-schema.ts'
import type { Migration } from './migrations.ts'
import { loadMigrations, missingMigrations } from './migrations.ts'

const migration = (version: number, text: string): Migration => ({ version, name: 'x', text })
const good = [
  migration(1, 'CREATE TABLE one (n INTEGER)'),
  migration(2, 'CREATE TABLE two (n INTEGER)'),
]
const bad = [...good, migration(3, 'CREATE TABLE three (n INTEGER); CREATE TABLE one (n INTEGER)')]

describe('the missing migrations', () => {
  it('are those that were not applied, in order', () => {
    expect(missingMigrations(good, []).map(({ version }) => version)).toEqual([1, 2])
    expect(missingMigrations(good, [1]).map(({ version }) => version)).toEqual([2])
    expect(missingMigrations(good, [1, 2])).toEqual([])
  })

  it('are unknown for a store that a newer program migrated', () => {
    expect(() => missingMigrations(good, [1, 2, 3])).toThrow(
      expect.objectContaining({ code: 'store_newer', hint: expect.stringContaining('newer') }),
    )
  })
})

describe('SQLite', () => {
  let db: DatabaseSync
  const tables = (): unknown[] =>
    db
      .prepare(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1`)
      .all()
      .map((row) => row['name'])

  beforeEach(() => void (db = new DatabaseSync(':memory:')))
  afterEach(() => db.close())

  it('applies each migration once', () => {
    migrateSqlite(db, good.slice(0, 1), 0)
    migrateSqlite(db, good, 0)
    migrateSqlite(db, good, 0)
    expect(tables()).toEqual(['migration', 'one', 'two'])
  })

  it('leaves nothing behind if the last migration fails', () => {
    expect(() => migrateSqlite(db, bad, 0)).toThrow(/already exists/)
    expect(tables()).toEqual([])
    expect(db.isTransaction).toBe(false)
    migrateSqlite(db, good, 0)
    expect(() => migrateSqlite(db, bad, 0)).toThrow(/already exists/)
    expect(tables()).toEqual(['migration', 'one', 'two'])
  })

  it('marks repositories that GitHub named before the first claim as used', () => {
    const all = loadMigrations('sqlite')
    migrateSqlite(db, all.slice(0, 23), 0)
    db.exec(`INSERT INTO repository (id, github_id, name, created_at, used_at) VALUES
      ('heard', 1, 'a/heard', 5, NULL), ('used', 2, 'a/used', 5, 7),
      ('named', NULL, 'a/named', 5, NULL), ('told', 3, 'a/told', 5, NULL)`)
    db.exec(`INSERT INTO told_name (repository_id, name) VALUES ('told', 'a/told')`)
    migrateSqlite(db, all, 0)
    const rows = db.prepare('SELECT id, used_at FROM repository ORDER BY id').all()
    expect(rows.map((row) => [row['id'], row['used_at']])).toEqual([
      ['heard', 5],
      ['named', null],
      ['told', null],
      ['used', 7],
    ])
  })

  it('records how the runs of purged keys ended, as far as that is known', () => {
    const all = loadMigrations('sqlite')
    migrateSqlite(
      db,
      all.filter(({ version }) => version < 7),
      0,
    )
    const insert = db.prepare(`INSERT INTO subject (id, type, scope, name, current_run_id,
      current_pair, finished_run_id, created_at, touched_at)
      VALUES (?, 't', '', ?, ?, 'p', ?, 0, 0)`)
    insert.run('sub_done', 'done', 'run_1', 'run_1')
    insert.run('sub_other', 'other', 'run_2', 'run_1')
    insert.run('sub_none', 'none', null, null)
    migrateSqlite(db, all, 0)
    expect(db.prepare('SELECT id, current_ended FROM subject ORDER BY id').all()).toEqual([
      { id: 'sub_done', current_ended: 'succeeded' },
      { id: 'sub_none', current_ended: null },
      { id: 'sub_other', current_ended: null },
    ])
  })

  it('refuses a store from a newer program and changes nothing', () => {
    migrateSqlite(db, good, 0)
    expect(() => migrateSqlite(db, good.slice(0, 1), 0)).toThrow(/only knows 1/)
    expect(tables()).toEqual(['migration', 'one', 'two'])
  })

  it('beside an active server leaves an older schema as it is', () => {
    const all = loadMigrations('sqlite')
    const version = () =>
      db.prepare('SELECT max(version) AS newest FROM migration').get()?.['newest']
    const beside = (now: number) => migrateSqlite(db, all, now, 'no_server_active')
    migrateSqlite(db, all.slice(0, 20), 0)
    db.exec("INSERT INTO store_state (key, value) VALUES ('alive_at', '1000')")
    expect(() => beside(4000)).toThrow(expect.objectContaining({ code: 'schema_in_use' }))
    expect(() => beside(21_000)).toThrow(/a server was active on it 20 s ago/)
    expect([version(), db.isTransaction]).toEqual([20, false])
    beside(21_001)
    expect(version()).toBe(all.at(-1)?.version)
    beside(4000)
  })
})

describe('PostgreSQL', () => {
  let database: TestDatabase
  let pool: Pool
  const tables = async (): Promise<unknown[]> => {
    const { rows } = await pool.query<{ name: string }>(
      `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'holdfast' ORDER BY 1`,
    )
    return rows.map(({ name }) => name)
  }

  beforeEach(async () => {
    database = await freshDatabase()
    const numbers = new TypeOverrides()
    numbers.setTypeParser(types.builtins.INT8, Number)
    const options = '-c search_path=holdfast'
    pool = new Pool({ connectionString: database.url, options, types: numbers })
    // A connection that is still closing may be cut by the drop of its database.
    pool.on('error', () => undefined)
  })
  afterEach(async () => {
    await pool.end()
    await database.drop()
  })

  it('applies each migration once', async () => {
    await migratePostgres(pool, good.slice(0, 1), 0)
    await migratePostgres(pool, good, 0)
    await migratePostgres(pool, good, 0)
    expect(await tables()).toEqual(['migration', 'one', 'two'])
  })

  it('leaves nothing behind if the last migration fails', async () => {
    await expect(migratePostgres(pool, bad, 0)).rejects.toThrow(/already exists/)
    expect(await tables()).toEqual([])
    await migratePostgres(pool, good, 0)
    await expect(migratePostgres(pool, bad, 0)).rejects.toThrow(/already exists/)
    expect(await tables()).toEqual(['migration', 'one', 'two'])
  })

  it('refuses a store from a newer program and changes nothing', async () => {
    await migratePostgres(pool, good, 0)
    await expect(migratePostgres(pool, good.slice(0, 1), 0)).rejects.toThrow(
      expect.objectContaining({ code: 'store_newer' }),
    )
    expect(await tables()).toEqual(['migration', 'one', 'two'])
  })

  it('beside an active server leaves an older schema as it is', async () => {
    const all = loadMigrations('postgres')
    const beside = (now: number) => migratePostgres(pool, all, now, 'no_server_active')
    const version = async () =>
      (await pool.query<{ newest: number }>('SELECT max(version) AS newest FROM migration')).rows[0]
        ?.newest
    await migratePostgres(pool, all.slice(0, 20), 0)
    await pool.query("INSERT INTO store_state (key, value) VALUES ('alive_at', '1000')")
    await expect(beside(4000)).rejects.toThrow(expect.objectContaining({ code: 'schema_in_use' }))
    expect(await version()).toBe(20)
    await beside(21_001)
    expect(await version()).toBe(all.at(-1)?.version)
  })
})
