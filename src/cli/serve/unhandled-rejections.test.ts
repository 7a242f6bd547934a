/** Goal: what a promise does to a server if it is rejected and nobody waits for it. */
import { expect, it } from 'vitest'
import { FakeWorld } from '../../../test/cli/fake-world.ts'
import { asRun } from '../../current-run.ts'

async function serving() {
  const world = new FakeWorld()
  world.env = { HOLDFAST_LOG_LEVEL: 'warn' }
  const exit = world.run('serve')
  await world.printed.promise
  return { world, exit }
}

it('of a run: it is logged with its run, and everything goes on', async () => {
  const { world, exit } = await serving()
  asRun({ id: 'run_1', type: 'review' }, () => world.reject(new Error('forgotten')))
  expect(world.stderr).toMatch(/forgotten.*"run_id":"run_1","type":"review"/)
  expect(world.closes).toBe(0)
  world.stop('SIGTERM')
  expect(await exit).toBe(0)
  expect(world.rejectionHandlers).toEqual([])
})

it('of anything else: the server gives its runs back and ends with 1', async () => {
  const { world, exit } = await serving()
  world.reject(new Error('not of a run'))
  expect(await exit).toBe(1)
  expect(world.stderr).toContain('not of a run')
  expect(world.closes).toBe(1)
})
