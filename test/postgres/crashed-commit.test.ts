/**
 * Goal: a transaction that a crash of the server rolled back is not taken for committed because
 * another transaction got its id.
 * Method: a real server that writes its log to the disk only with a COMMIT. It crashes while a
 * transaction is open. Then other transactions commit until its id is given again.
 */
import pg from 'pg'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { systemScheduler } from '../../src/scheduler.ts'
import type { Row } from '../../src/stores/sql.ts'
import {
  fateOf,
  transactionMark,
  UnansweredCommit,
  type TransactionMark,
} from '../../src/stores/drivers/postgres-commit.ts'
import { until } from '../scenarios/until.ts'
import { startCluster, type Cluster } from './cluster.ts'

let cluster: Cluster
let clients: pg.Client[]

beforeEach(async () => {
  const settings = { wal_writer_delay: '10s', wal_writer_flush_after: '1GB' }
  cluster = await startCluster({ durable: true, settings })
  clients = []
  const client = await connected()
  await client.query('CREATE TABLE note (text text)')
  // The server makes a checkpoint as it starts. In that second the fate of a commit is unknown.
  await secondIsOver(client)
})

afterEach(async () => {
  await Promise.all(clients.map((client) => client.end().catch(() => undefined)))
  await cluster.stop()
})

async function connected(): Promise<pg.Client> {
  const client = new pg.Client(cluster.url)
  client.on('error', () => undefined)
  await client.connect()
  clients.push(client)
  return client
}

async function secondIsOver(client: pg.Client): Promise<void> {
  const second = async () => (await client.query<Row>(transactionMark)).rows[0]?.['second']
  const now = await second()
  await until(second, (later) => Number(later) > Number(now))
}

async function begun(client: pg.Client): Promise<TransactionMark> {
  await client.query('BEGIN')
  const mark = (await client.query<TransactionMark>(transactionMark)).rows[0]!
  await client.query("INSERT INTO note VALUES ('ours')")
  return mark
}

/** As the driver asks, over a new connection. */
async function fateAfter(mark: TransactionMark): Promise<string> {
  const client = await connected()
  return await fateOf(new UnansweredCommit(mark, 'value', null), {
    ...{ clock: systemClock, scheduler: systemScheduler },
    ask: async ({ text, params }) => {
      let count = 0
      const numbered = text.replaceAll('?', () => `$${++count}`)
      return (await client.query<Row>(numbered, [...params])).rows
    },
  })
}

/** A backend that is killed makes the server end all connections and recover. */
async function crash(): Promise<void> {
  const [client, another] = [await connected(), await connected()]
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  const noticed = new Promise<void>((resolve) => another.once('end', resolve))
  process.kill(rows[0]!.pid, 'SIGKILL')
  await noticed
  await until(
    () => connected().then(Boolean, () => false),
    (isBack) => isBack,
  )
}

it('a commit is committed, and a rollback is not', { timeout: 60_000 }, async () => {
  const client = await connected()
  const committed = await begun(client)
  await client.query('COMMIT')
  const undone = await begun(client)
  await client.query('ROLLBACK')
  expect([await fateAfter(committed), await fateAfter(undone)]).toEqual(['committed', 'aborted'])
})

it('a commit from before a crash or a checkpoint is committed', { timeout: 60_000 }, async () => {
  const client = await connected()
  const mark = await begun(client)
  await client.query('COMMIT')
  await client.query('CHECKPOINT')
  expect(await fateAfter(mark)).toBe('committed')
  await crash()
  expect(await fateAfter(mark)).toBe('committed')
})

it('an id that was given again after a crash says nothing', { timeout: 60_000 }, async () => {
  const mark = await begun(await connected())
  // A checkpoint in the second of the mark would leave it unknown.
  await secondIsOver(await connected())
  await crash()
  const later = await connected()
  let given = ''
  while (given !== mark.id) {
    const { rows } = await later.query<Row>("INSERT INTO note VALUES ('theirs') RETURNING xmin")
    given = String(rows[0]?.['xmin'])
    expect(Number(given)).toBeLessThanOrEqual(Number(mark.id))
  }
  const { rows } = await later.query<Row>("SELECT text FROM note WHERE text = 'ours'")
  expect(rows).toEqual([])
  expect(await fateAfter(mark)).toBe('aborted')
})
