/**
 * Goal: each caller gets its own database, and nothing is left behind.
 * Method: real clusters, one of them in a child process that is killed with SIGKILL.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createConnection } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { expect, it } from 'vitest'
import { startCluster } from './cluster.ts'
import { createDatabase } from './create-database.ts'
import { freshDatabase } from './fresh-database.ts'

async function ask(url: string, statement: string): Promise<pg.QueryResultRow[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<pg.QueryResultRow>(statement)).rows
  } finally {
    await client.end()
  }
}

async function refusesConnections(url: string): Promise<boolean> {
  const socket = createConnection(Number(new URL(url).port), '127.0.0.1')
  try {
    await once(socket, 'connect')
    return false
  } catch {
    return true
  } finally {
    socket.destroy()
  }
}

it('two databases do not see each other', async () => {
  const [one, other] = await Promise.all([freshDatabase(), freshDatabase()])
  await ask(one.url, 'CREATE TABLE mine (n int)')
  const tables = await ask(other.url, "SELECT 1 FROM pg_tables WHERE tablename = 'mine'")
  expect(tables).toEqual([])
  await Promise.all([one.drop(), other.drop()])
})

it('a database is cloned from a template', async () => {
  const template = await freshDatabase()
  await ask(template.url, 'CREATE TABLE kept AS SELECT 7 AS n')
  const clone = await freshDatabase({ template: template.name })
  expect(await ask(clone.url, 'SELECT n FROM kept')).toEqual([{ n: 7 }])
  await Promise.all([template.drop(), clone.drop()])
})

it('a dropped database is gone even if a client is connected', async () => {
  const database = await freshDatabase()
  const client = new pg.Client({ connectionString: database.url })
  client.on('error', () => undefined)
  await client.connect()
  await database.drop()
  await expect(ask(database.url, 'SELECT 1')).rejects.toThrow(/does not exist/)
})

it('a durable cluster syncs to disk, takes settings and is gone after stop', async () => {
  const cluster = await startCluster({ durable: true, settings: { deadlock_timeout: '123ms' } })
  expect(await ask(cluster.url, 'SHOW fsync')).toEqual([{ fsync: 'on' }])
  expect(await ask(cluster.url, 'SHOW deadlock_timeout')).toEqual([{ deadlock_timeout: '123ms' }])
  const database = await createDatabase(cluster.url)
  expect(await ask(database.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  await cluster.stop()
  expect(await refusesConnections(cluster.url)).toBe(true)
})

it('a server that cannot start says why', async () => {
  const starting = startCluster({ settings: { max_connections: 'many' } })
  await expect(starting).rejects.toThrow(/max_connections/)
})

/** A child process that starts a cluster, prints its address and then does `afterwards`. */
async function clusterOwner(afterwards: string): Promise<{ owner: ChildProcess; url: string }> {
  const module = new URL('./cluster.ts', import.meta.url).href
  const program = `
    const { startCluster } = await import(${JSON.stringify(module)})
    console.log((await startCluster()).url)
    ${afterwards}`
  const owner = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [line] = (await once(owner.stdout, 'data')) as [Buffer]
  return { owner, url: line.toString().trim() }
}

it('a cluster ends when its owner is killed', async () => {
  const { owner, url } = await clusterOwner('process.stdin.resume()')
  expect(await refusesConnections(url)).toBe(false)
  owner.kill('SIGKILL')
  await once(owner, 'close')
  while (!(await refusesConnections(url))) await pause(20)
})

it('a cluster that is never stopped does not keep its owner alive', async () => {
  const { owner, url } = await clusterOwner('')
  await once(owner, 'close')
  while (!(await refusesConnections(url))) await pause(20)
})
