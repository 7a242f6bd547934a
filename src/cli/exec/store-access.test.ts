/**
 * Goal: an `exec` that is interrupted in a queue takes its run out of it, but never from another
 * one that has begun to work on it.
 * Method: a real database. What this process read of the run is older than what is there.
 */
import { afterEach, beforeEach, expect, it } from 'vitest'
import { storeWorld, type StoreWorld } from '../../../test/cli/store-world.ts'
import type { Run } from '../../domain/run.ts'
import type { Leased } from '../../runs/runs.ts'
import { loadSettings } from '../../settings/load-settings.ts'
import type { RunAccess } from './run-access.ts'
import { openStoreAccess } from './store-access.ts'
import type { WantedWork } from './wanted-work.ts'

const type = 'build'

let at: StoreWorld
let access: RunAccess
/** The run as this process sees it. */
let seen: Run

beforeEach(async () => {
  at = await storeWorld()
  const { world, runs } = at
  seen = (await runs.claim({ kind: 'job', type, key: 'one', lease: false }, 'exec')).run!
  const open = world.openStandalone
  world.openStandalone = async (...args) => {
    const standalone = await open(...args)
    standalone.runs.get = () => Promise.resolve(seen)
    return standalone
  }
  const settings = await loadSettings({ env: world.env, cwd: world.cwd })
  const work = { sent: {}, claim: { type, key: 'one' } } as WantedWork
  access = await openStoreAccess(world, settings, work)
})
afterEach(async () => {
  await access.close()
  await at.close()
})

const leased = (): Promise<Leased | null> =>
  at.runs.lease({ worker: 'another exec', types: [type], waitMs: 0 }, 'exec')

it('a run that nobody works on is cancelled', async () => {
  expect(await access.giveUp(seen.id)).toMatchObject({ state: 'cancelled' })
  expect(await leased()).toBeNull()
})

it('a run that another one has just begun goes on', async () => {
  const { run } = (await leased())!
  expect(await access.giveUp(seen.id)).toMatchObject({ id: run.id, state: 'running' })
  expect(await at.runs.get(run.id)).toMatchObject({ state: 'running', fence: run.fence })
})
