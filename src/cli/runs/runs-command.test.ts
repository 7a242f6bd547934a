/** Goal: whoever reruns a run learns who can take it. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { storeWorld, type StoreWorld } from '../../../test/cli/store-world.ts'

let at: StoreWorld
beforeEach(async () => {
  at = await storeWorld()
})
afterEach(() => at.close())

test('a run that a caller claimed is rerun with a note who takes it', async () => {
  const job = { kind: 'job', type: 'docs', key: 'docs-1', lease: true } as const
  const { run } = await at.runs.claim(job, 'test')
  const id = String(run?.id)
  const wanted = await at.command('runs', 'rerun', id)
  const note =
    'A worker or the next holdfast exec of the same work takes it; a program that only claims ' +
    'does not get it.'
  expect(wanted.stdout).toContain(` it runs again when this round has ended. ${note}\n`)
  await at.command('runs', 'cancel', id)
  const again = await at.command('runs', 'rerun', id)
  expect(again.stdout).toContain(` is pending again in round 2. ${note}\n`)
})
