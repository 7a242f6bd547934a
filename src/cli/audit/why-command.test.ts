// Goal: `why` says what the workers said.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { storeWorld, type StoreWorld } from '../../../test/cli/store-world.ts'
import { systemClock } from '../../clock.ts'
import { openStore } from '../../open-store.ts'
import { loadSettings } from '../../settings/load-settings.ts'
import { hashLeaseToken } from '../../secrets.ts'
import type { Completion } from '../../domain/completion.ts'

let at: StoreWorld
beforeEach(async () => {
  at = await storeWorld()
})
afterEach(() => at.close())

/** The id of a run that was completed like this. */
async function completed(completion: Completion): Promise<string> {
  const job = { kind: 'job', type: 'docs', key: 'site', lease: true } as const
  const { run, lease } = await at.runs.claim(job, 'test')
  if (run === null || lease === null) throw new Error('there is no lease')
  const request = { runId: run.id, leaseHash: hashLeaseToken(lease.token), ...completion }
  await at.runs.complete(request, 'test')
  return run.id
}

test.each<Completion>([
  { outcome: 'skipped', description: 'It has newer commits' },
  { outcome: 'skipped', summary: '# It has newer commits\nMore.' },
  { outcome: 'skipped', error: { code: 'old', text: 'It has newer commits' }, summary: 'x' },
])('a run that ended with %o says why it was skipped', async (completion) => {
  const { stdout } = await at.command('why', await completed(completion))
  expect(stdout).toContain('was skipped')
  expect(stdout.match(/: “It has newer commits”/g)).toHaveLength(2)
  expect(stdout).not.toContain('nothing to do')
})

test('while no server is active, an active run comes with how to start one', async () => {
  const settings = await loadSettings({ env: at.world.env, cwd: at.world.cwd })
  const clock = { ...systemClock, wallMs: () => systemClock.wallMs() - 60_000 }
  const stopped = await openStore(settings, { clock })
  await stopped.upkeep.beat()
  await stopped.close()
  const job = { kind: 'job', type: 'docs', key: 'site', lease: false } as const
  const { run } = await at.runs.claim(job, 'test')
  const why = async () => (await at.command('why', String(run?.id))).stdout
  expect(await why()).toMatch(/Start a server: none was active on this database since [\d:-]+/)
  await at.store.upkeep.beat()
  expect(await why()).not.toContain('Start a server')
})
