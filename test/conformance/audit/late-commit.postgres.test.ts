/**
 * Goal: on PostgreSQL, where an id is drawn long before its transaction commits, a reader that
 * continues from the last row it saw also gets a row that commits late, once.
 * Method: transactions that the test holds open, and many writers and followers over two stores.
 */
import { githubDeclarations } from '../../../src/channels/github-channels.ts'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { AuditRow } from '../../../src/domain/audit.ts'
import type { SqlStore } from '../../../src/stores/sql-store/sql-store.ts'
import { openPostgres } from '../../../src/stores/open-postgres.ts'
import { machine } from '../../chaos/open-store.ts'
import { freshDatabase, type TestDatabase } from '../../postgres/fresh-database.ts'
import { followFrom } from './audit-order.suite.ts'
import { jobClaim } from '../claims.ts'

let database: TestDatabase
let stores: readonly [SqlStore, SqlStore]
const clients: pg.Client[] = []

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url })
  clients.push(client)
  await client.connect()
  await client.query('SET search_path = holdfast')
  return client
}

const insert = async (client: pg.Client, actor: string): Promise<number> => {
  const { rows } = await client.query<{ id: string }>(
    `INSERT INTO audit (at, type, actor, data) VALUES (1, 'run.claimed', $1, '{}') RETURNING id`,
    [actor],
  )
  return Number(rows[0]?.id)
}

beforeAll(async () => {
  database = await freshDatabase()
  stores = [
    await openPostgres(database.url, { ...machine, channels: githubDeclarations }),
    await openPostgres(database.url, { ...machine, channels: githubDeclarations }),
  ]
})
afterAll(async () => {
  await Promise.all([...clients, ...stores].map((one) => ('end' in one ? one.end() : one.close())))
  await database.drop()
})

it('a row that commits after a later one was read is read next, once', async () => {
  const [store] = stores
  const [late, early] = [await connect(), await connect()]
  const start = await store.audit.latestOrder()
  await late.query('BEGIN')
  const lateId = await insert(late, 'late')
  const earlyId = await insert(early, 'early')
  expect(earlyId).toBeGreaterThan(lateId)

  const first = await followFrom(store, start, 10)
  expect(first.map(({ actor }) => actor)).toEqual(['early'])
  const before = await store.audit.list({}, { limit: 10, cursor: null })
  expect(before.items.map(({ actor }) => actor)).toEqual(['early'])

  await late.query('COMMIT')
  const next = await followFrom(store, first.at(-1)?.order ?? start, 10)
  expect(next.map(({ id, actor }) => [id, actor])).toEqual([[lateId, 'late']])
  expect(await followFrom(store, next.at(-1)?.order ?? 0, 10)).toEqual([])
  const after = await store.audit.list({}, { limit: 10, cursor: null })
  expect(after.items.map(({ actor }) => actor)).toEqual(['late', 'early'])
})

it('a row that is rolled back makes no reader wait for its number', async () => {
  const [store] = stores
  const [client, other] = [await connect(), await connect()]
  const start = await store.audit.latestOrder()
  await client.query('BEGIN')
  await insert(client, 'gone')
  await insert(other, 'stays')
  await client.query('ROLLBACK')
  const rows = await followFrom(store, start, 10)
  expect(rows.map(({ actor }) => actor)).toEqual(['stays'])
})

it('two stores that number rows at once, with many writers, lose and repeat no row', async () => {
  const [one, other] = stores
  const start = await one.audit.latestOrder()
  const holders = await Promise.all(Array.from({ length: 3 }, connect))
  let isOver = false
  const claims = Array.from({ length: 400 }, (_, i) => jobClaim(`k${i}`, `s${i % 40}`))
  const writing = Promise.all([
    ...claims.map((claim, i) => (i % 2 === 0 ? one : other).runs.claim(claim, null)),
    ...holders.map(async (holder, n) => {
      for (let i = 0; i < 20; i++) {
        await holder.query('BEGIN')
        await insert(holder, `holder-${n}-${i}`)
        // The commit of another transaction overtakes this one.
        await one.audit.latestOrder()
        await holder.query('COMMIT')
      }
    }),
  ]).finally(() => (isOver = true))
  const follow = async (store: SqlStore): Promise<AuditRow[]> => {
    const seen: AuditRow[] = []
    for (;;) {
      const wasOver = isOver
      seen.push(...(await followFrom(store, seen.at(-1)?.order ?? start, 7)))
      if (wasOver) return seen
    }
  }
  const [ours, theirs] = await Promise.all([follow(one), follow(other), writing])
  const client = await connect()
  const { rows } = await client.query<{ id: string }>(
    'SELECT id FROM audit WHERE seq > $1 OR seq IS NULL ORDER BY seq',
    [start],
  )
  const all = rows.map(({ id }) => Number(id))
  expect(all.length).toBeGreaterThanOrEqual(460)
  expect(ours.map(({ id }) => id)).toEqual(all)
  expect(theirs.map(({ id }) => id)).toEqual(all)
})
