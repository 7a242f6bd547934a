/**
 * Goal: a maintainer's label counts for the commits that it was set on. Somebody who closes and
 * reopens the pull request in the same second, so that GitHub must be asked, and then pushes, gets
 * no run.
 * Method: whole servers on both databases, against the simulated GitHub, with webhooks that are
 * held back.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { databases, LossyWorld } from './lossy-world.ts'

const on = { pull_request: ['labeled'] }

let world: LossyWorld
afterEach(() => world.stop())

describe.each(databases)('on %s', (database) => {
  beforeEach(async () => {
    const config = {
      runs: { deploy: { on, by: 'write', run: 'remote', anchor: false } },
    } as const
    world = new LossyWorld({ database, asUser: true, config })
    await world.start()
    world.github.setRole(world.name, 'mona', 'write')
    world.openPull(1)
    await world.hook.idle()
  })

  const closeReopenLabel = () => {
    world.then(() => {
      world.github.close(world.name, 1)
      world.github.reopen(world.name, 1)
      world.github.labelAs('mona', world.name, 1, 'safe to test')
    })
  }

  it('a push right after the label does not count as labelled', async () => {
    world.hook.addFault({ fault: 'hold', action: 'labeled' })
    closeReopenLabel()
    world.push(1, 101)
    await world.hook.idle()
    world.hook.release()
    expect((await world.runs()).filter((run) => run.startsWith('#1 101'))).toEqual([])
  })

  it('the commits that were labelled are worked on', async () => {
    closeReopenLabel()
    expect(await world.runs()).toEqual(['#1 100 pending'])
  })
})
