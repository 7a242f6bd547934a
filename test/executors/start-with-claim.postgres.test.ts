/**
 * Goal: claims that wait for one locked subject keep no executor from the runs of other subjects.
 * Method: a connection of another program locks a subject's row. Several claims of it wait, and a
 * run of another subject must begin while the lock is still held.
 */
import pg from 'pg'
import { expect, it, vi } from 'vitest'
import { sessionOptions } from '../../src/stores/open-postgres.ts'
import { openStore } from '../chaos/open-store.ts'
import { freshDatabase } from '../postgres/fresh-database.ts'
import { workWorld } from './work-world.ts'

vi.setConfig({ testTimeout: 60_000 })

it('a locked subject keeps no slot', async () => {
  const database = await freshDatabase()
  const store = await openStore({ kind: 'postgres', url: database.url })
  const began: string[] = []
  const world = await workWorld({
    handlers: { job: async ({ key }) => void began.push(key) },
    concurrency: 1,
    store,
    policy: { onNewer: 'supersede' },
  })
  const first = await world.claim('job', 'locked 0', { subject: 'locked' })
  await world.ended(first.run?.id ?? '')
  const holder = new pg.Client({ connectionString: database.url, options: sessionOptions })
  await holder.connect()
  await holder.query('BEGIN')
  await holder.query(`UPDATE subject SET touched_at = touched_at WHERE name = 'locked'`)
  const waiting = [1, 2, 3, 4].map((n) => {
    return world.claim('job', `locked ${n}`, { subject: 'locked' })
  })
  for (const key of ['a', 'b', 'c', 'd', 'e']) await world.claim('job', key)
  await expect.poll(() => began.length, { timeout: 30_000 }).toBe(6)
  expect(began.slice(1).toSorted()).toEqual(['a', 'b', 'c', 'd', 'e'])

  await holder.query('COMMIT')
  await holder.end()
  const claimed = await Promise.all(waiting)
  for (const { run } of claimed) expect(run).not.toBeNull()
  const last = await world.ended(claimed.at(-1)?.run?.id ?? '')
  expect(['succeeded', 'superseded']).toContain(last.state)
  await world.close()
  await store.close()
  await database.drop()
})
