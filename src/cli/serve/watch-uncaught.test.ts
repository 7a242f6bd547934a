/**
 * Goal: what a promise does to a server if it is rejected and nobody waits for it, and an exception
 * that nobody catches.
 */
import { describe, expect, it } from 'vitest'
import { FakeWorld } from '../../../test/cli/fake-world.ts'
import { asRun } from '../../current-run.ts'

async function serving() {
  const world = new FakeWorld()
  world.env = { HOLDFAST_LOG_LEVEL: 'warn' }
  const exit = world.run('serve')
  await world.printed.promise
  return { world, exit }
}

const fails = (): never => {
  throw new Error('cannot be read')
}
const odd: readonly (readonly [string, unknown])[] = [
  ['a frozen error', Object.freeze(new Error('odd'))],
  [
    'an error with a field that throws',
    Object.defineProperty(new Error('odd'), 'x', { enumerable: true, get: fails }),
  ],
  ['a Proxy that throws', new Proxy({}, { get: fails, getPrototypeOf: fails })],
]

describe('a rejection', () => {
  it('of a run is logged with its run, and everything goes on', async () => {
    const { world, exit } = await serving()
    asRun({ id: 'run_1', type: 'review' }, () => world.reject(new Error('forgotten')))
    expect(world.stderr).toMatch(/forgotten.*"run_id":"run_1","type":"review"/)
    expect(world.closes).toBe(0)
    world.stop('SIGTERM')
    expect(await exit).toBe(0)
    expect([...world.rejectionHandlers, ...world.exceptionHandlers]).toEqual([])
  })

  it.each(odd)('with %s is logged all the same', async (_, reason) => {
    const { world, exit } = await serving()
    asRun({ id: 'run_1', type: 'review' }, () => world.reject(reason))
    expect(world.stderr).toMatch(/odd|cannot be read/)
    expect(world.stderr).toContain('"run_id":"run_1"')
    world.reject(reason)
    expect(await exit).toBe(1)
    expect(world.closes).toBe(1)
  })

  it('of anything else has the server give its runs back and end with 1', async () => {
    const { world, exit } = await serving()
    world.reject(new Error('not of a run'))
    expect(await exit).toBe(1)
    expect(world.stderr).toContain('not of a run')
    expect(world.closes).toBe(1)
  })
})

describe('an exception', () => {
  it.each(odd)('of a run is logged with its run, and everything goes on: %s', async (_, thrown) => {
    const { world, exit } = await serving()
    const run = { id: 'run_1', type: 'review' }
    expect(asRun(run, () => world.throwUncaught(thrown))).toEqual(['go-on'])
    expect(world.stderr).toMatch(/odd|cannot be read/)
    expect(world.stderr).toContain('"run_id":"run_1","type":"review"')
    expect(world.closes).toBe(0)
    world.stop('SIGTERM')
    expect(await exit).toBe(0)
  })

  it('of anything else is logged, and the process ends at once', async () => {
    const { world, exit } = await serving()
    expect(world.throwUncaught(new Error('not of a run'))).toEqual(['end'])
    expect(world.stderr).toContain('not of a run')
    expect(world.closes).toBe(0)
    world.stop('SIGTERM')
    await exit
  })
})
