/**
 * Goal: the committed schemas are those that the migrations create, and both databases have the
 * same tables, columns, checks and indexes.
 * Method: migrate an empty database of each kind and read its catalogue.
 */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadMigrations } from '../../src/stores/migrations.ts'
import { freshDatabase, type TestDatabase } from '../postgres/fresh-database.ts'
import { dumpPostgres, migrateDatabase } from './dump-postgres.ts'
import { dumpSqlite, migratedMemory } from './dump-sqlite.ts'
import { asSnapshot, readSnapshot } from './snapshots.ts'

let database: TestDatabase
let client: pg.Client

beforeAll(async () => {
  database = await freshDatabase()
  await migrateDatabase(database.url)
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

const remedy = 'the schema has drifted from its snapshot; run `npm run schema` and commit it'

it('the SQLite migrations create the committed schema', () => {
  expect(asSnapshot(dumpSqlite()), remedy).toBe(readSnapshot('sqlite'))
})

it('the PostgreSQL migrations create the committed schema', async () => {
  expect(asSnapshot(await dumpPostgres(database.url)), remedy).toBe(readSnapshot('postgres'))
})

it('migrations are numbered without gaps, and equally in both databases', () => {
  const names = (['sqlite', 'postgres'] as const).map((dialect) =>
    loadMigrations(dialect).map(({ version, name }) => `${version} ${name}`),
  )
  const versions = loadMigrations('sqlite').map(({ version }) => version)
  expect(names[0]).toEqual(names[1])
  expect(versions).toEqual(versions.map((_, index) => index + 1))
})

/**
 * PostgreSQL numbers audit rows after the commit, in a separate column. SQLite's ids are already in
 * that order, and every index there ends with the id.
 */
const columnsOfPostgres = ['audit.seq']
const indexesOfPostgres: Readonly<Record<string, string>> = {
  audit_at: 'at seq',
  audit_delivery: 'delivery_id seq',
  audit_inbox: 'inbox_id seq',
  audit_refused: 'refused seq',
  audit_run: 'run_id seq',
  audit_seq: 'seq',
  audit_type: 'type seq',
  audit_unplaced: 'id',
}

describe('both databases', () => {
  const fromSqlite = (text: string): Record<string, unknown>[] => {
    const db = migratedMemory()
    try {
      return db
        .prepare(text)
        .all()
        .map((row) => ({ ...row }))
    } finally {
      db.close()
    }
  }
  const fromPostgres = async (text: string): Promise<Record<string, unknown>[]> =>
    (await client.query<Record<string, unknown>>(text)).rows

  it('have the same columns, and allow NULL in the same ones', async () => {
    const ours = fromSqlite(`
      SELECT t.name || '.' || c.name AS "column", "notnull" = 1 OR pk > 0 AS needed
      FROM sqlite_schema t, pragma_table_info(t.name) c
      WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%' ORDER BY 1`)
    const theirs = await fromPostgres(`
      SELECT table_name || '.' || column_name AS "column", (is_nullable = 'NO')::int AS needed
      FROM information_schema.columns WHERE table_schema = 'holdfast'
      ORDER BY (table_name || '.' || column_name) COLLATE "C"`)
    const shared = theirs.filter(({ column }) => !columnsOfPostgres.includes(String(column)))
    expect(shared).toEqual(ours)
    expect(theirs).toHaveLength(ours.length + columnsOfPostgres.length)
  })

  it('have the same named checks', async () => {
    const ours = fromSqlite(`SELECT sql FROM sqlite_schema WHERE type = 'table'`)
      .flatMap(({ sql }) => [...String(sql).matchAll(/CONSTRAINT (\w+) CHECK/g)])
      .map(([, name]) => name)
    const theirs = await fromPostgres(
      `SELECT conname AS name FROM pg_constraint WHERE contype = 'c'
       AND connamespace = 'holdfast'::regnamespace`,
    )
    expect(theirs.map(({ name }) => name).toSorted()).toEqual(ours.toSorted())
    expect(ours.length).toBeGreaterThan(3)
  })

  it('have the same indexes over the same columns and the same part of the rows', async () => {
    const ours = fromSqlite(`
      SELECT i.name, i."unique", s.sql,
        (SELECT group_concat(x.name, ' ') FROM (
          SELECT name FROM pragma_index_info(i.name) ORDER BY seqno) x) AS columns
      FROM sqlite_schema t, pragma_index_list(t.name) i JOIN sqlite_schema s ON s.name = i.name
      WHERE i.origin = 'c' ORDER BY i.name`)
    const theirs = await fromPostgres(`
      SELECT x.relname AS name, i.indisunique::int AS "unique", pg_get_indexdef(x.oid) AS sql,
        (SELECT string_agg(a.attname, ' ' ORDER BY k.n)
         FROM unnest(i.indkey) WITH ORDINALITY k(at, n)
         JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.at) AS columns
      FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid
      WHERE x.relnamespace = 'holdfast'::regnamespace
        AND NOT EXISTS (SELECT 1 FROM pg_constraint o WHERE o.conindid = x.oid)
      ORDER BY x.relname COLLATE "C"`)
    const isOwn = ({ name }: Record<string, unknown>): boolean => String(name) in indexesOfPostgres
    const shared = (all: readonly Record<string, unknown>[]) =>
      all.filter((index) => !isOwn(index)).map(comparable)
    expect(shared(theirs)).toEqual(shared(ours))
    const own = theirs.filter(isOwn).map(({ name, columns }) => [name, columns])
    expect(Object.fromEntries(own)).toEqual(indexesOfPostgres)
    expect(ours.length).toBeGreaterThan(10)
  })
})

/** The two write a predicate differently; its columns and its literals are the same. */
function comparable({ sql, ...index }: Record<string, unknown>): Record<string, unknown> {
  const [, predicate = ''] = String(sql).split(' WHERE ')
  const columns = [...predicate.matchAll(/\b(state|on_newer|\w+_at|\w+_id)\b/g)]
  const literals = [...predicate.matchAll(/'(\w+)'/g)]
  return {
    ...index,
    columnsOfPart: columns.map(([word]) => word).toSorted(),
    literalsOfPart: literals.map(([word]) => word).toSorted(),
  }
}
