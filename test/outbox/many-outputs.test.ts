/**
 * Goal: no output of an ended run stays "pending", however many it published: neither those that
 * its end left for later, nor those that an older version of Holdfast forgot.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createReconciler } from '../../src/outbox/reconciler.ts'
import { openWorld, type World } from './world.ts'

const count = 450
let folder: string
let world: World
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-many-'))
  world = await openWorld({ path: join(folder, 'store.db') })
})
afterEach(async () => {
  await world.close()
  rmSync(folder, { recursive: true })
})

/** Returns how many of its outputs are still open and how many were closed. */
type Count = () => Promise<readonly [open: number, closed: number]>

async function endWithMany(): Promise<Count> {
  const held = await world.claim(1)
  for (let n = 0; n < count; n += 1) {
    const content = { context: `ci/${n}`, state: 'pending', description: 'x', targetUrl: null }
    await world.publish(held, `s${n}`, 'github-status', content)
  }
  await world.complete(held)
  return async () => {
    const page = { limit: 1000, cursor: null }
    const { items } = await world.act(world.store.outbox.list({ runId: held.run!.id }, page))
    const own = items.filter(({ content }) => content.includes('"ci/'))
    const open = own.filter(({ announces }) => announces).length
    return [open, own.length - open]
  }
}

async function reconcile(): Promise<void> {
  const log = pino({ level: 'silent' })
  const { store, time } = world
  await world.act(createReconciler({ store, scheduler: time, log }).kick())
}

it('what its end left for later is closed by the reconciler', async () => {
  const outputs = await endWithMany()
  expect(await outputs()).toEqual([count - 200, 200])
  await reconcile()
  expect(await outputs()).toEqual([0, count])
})

it('what an older version left open is closed too', async () => {
  const outputs = await endWithMany()
  const db = new DatabaseSync(join(folder, 'store.db'))
  expect(db.prepare('DELETE FROM unclosed_run').run().changes).toBe(1)
  db.close()
  await reconcile()
  expect(await outputs()).toEqual([0, count])
})

it('what belongs to a channel that this process does not know is left alone', async () => {
  const held = await world.claim(1)
  const content = { context: 'ci/x', state: 'pending', description: 'x', targetUrl: null }
  await world.publish(held, 'own', 'github-status', content)
  await world.complete(held)
  const db = new DatabaseSync(join(folder, 'store.db'))
  db.exec(`UPDATE delivery SET announces = 1, channel = 'later' WHERE name = 'own'`)
  db.close()
  const { outbox } = world.store
  expect(await world.act(outbox.closeForgotten(10))).toBe(0)
  expect(await world.act(outbox.closeRemaining())).toBe(false)
})
