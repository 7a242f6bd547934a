/**
 * Goal: when the PostgreSQL server stops, the store becomes unready and its calls fail as
 * unavailable; when the server is back, the store works again without a restart of Holdfast.
 * Method: a real server behind a relay is stopped during work, and another server with a database
 * of the same name replaces it.
 */
import pg from 'pg'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { StoreUnavailableError } from '../../src/errors.ts'
import type { Store } from '../../src/store.ts'
import { startCluster } from '../postgres/cluster.ts'
import { claimOf } from './claims.ts'
import { openStore } from './open-store.ts'
import { startRelay } from './relay.ts'

vi.setConfig({ testTimeout: 120_000 })

const claim = (store: Store, pr: number) =>
  store.runs.claim(
    claimOf({ pr, head: 'a', secret: 's', leaseMs: 60_000, actor: 'test', now: store.now() }),
    null,
  )

async function isReady(store: Store): Promise<boolean> {
  try {
    await store.ping()
    return true
  } catch (error) {
    expect(error).toBeInstanceOf(StoreUnavailableError)
    return false
  }
}

it('the store is unready while its server is stopped, and ready when it is back', async () => {
  const [first, second, relay] = await Promise.all([startCluster(), startCluster(), startRelay()])
  relay.aim(first.url)
  const store = await openStore({ kind: 'postgres', url: relay.url(first.url) })
  await claim(store, 1)

  const working = Array.from({ length: 40 }, (_, i) => claim(store, 100 + i))
  const settled = Promise.allSettled(working)
  await first.stop()
  for (const result of await settled) {
    if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(StoreUnavailableError)
  }
  expect(await isReady(store)).toBe(false)
  await expect(claim(store, 2)).rejects.toBeInstanceOf(StoreUnavailableError)
  await expect(store.runs.get('run_x')).rejects.toBeInstanceOf(StoreUnavailableError)

  const migrated = await openStore({ kind: 'postgres', url: second.url })
  await migrated.close()
  relay.aim(second.url)
  while (!(await isReady(store))) await pause(20)
  expect((await claim(store, 3)).reason).toBe('new')
  await store.close()
  await Promise.all([second.stop(), relay.close()])
})

it('the store survives a crashed backend that makes the server close all connections', async () => {
  const cluster = await startCluster()
  const store = await openStore({ kind: 'postgres', url: cluster.url })
  await Promise.all(Array.from({ length: 10 }, (_, i) => claim(store, i)))
  const outside = new pg.Client({ connectionString: cluster.url })
  outside.on('error', () => undefined)
  await outside.connect()
  const { rows } = await outside.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity WHERE application_name = 'holdfast' LIMIT 1`,
  )
  const working = Promise.allSettled(Array.from({ length: 20 }, (_, i) => claim(store, 100 + i)))
  process.kill(rows[0]!.pid, 'SIGKILL')
  for (const result of await working) {
    if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(StoreUnavailableError)
  }
  while (!(await isReady(store))) await pause(20)
  let answered = false
  while (!answered) answered = (await claim(store, 500).catch(() => null)) !== null
  await outside.end()
  await store.close()
  await cluster.stop()
})
