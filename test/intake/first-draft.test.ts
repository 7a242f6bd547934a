/**
 * Goal: catch-up also checks a repository from which no event has led to a claim yet, because its
 * next event may be lost.
 * Method: whole servers on both databases, against a simulated GitHub that loses webhooks.
 */
import { afterEach, describe, expect, it } from 'vitest'
import { databases, LossyWorld } from './lossy-world.ts'

let world: LossyWorld
afterEach(() => world.stop())

describe.each(databases)('on %s', (database) => {
  it('a first pull request that was a draft gets its run after a lost event', async () => {
    world = new LossyWorld({ database, asUser: true })
    await world.start()
    world.openPull(1, true)
    expect(await world.runs()).toEqual([])
    world.lose('ready_for_review')
    world.then(() => world.github.edit(world.name, 1, { draft: false }))
    expect(await world.server.catchUp()).toMatchObject({ reconciled: 1 })
    expect(await world.runs()).toEqual(['#1 100 pending'])
    expect(await world.server.catchUp()).toMatchObject({ reconciled: 0 })
  })

  it('the same if only a label arrived, which no type listens to', async () => {
    world = new LossyWorld({ database, asUser: true })
    await world.start()
    world.lose('opened')
    world.openPull(1)
    world.then(() => world.github.labelAs('octocat', world.name, 1, 'urgent'))
    expect(await world.runs()).toEqual([])
    expect(await world.server.catchUp()).toMatchObject({ reconciled: 1 })
    expect(await world.runs()).toEqual(['#1 100 pending'])
  })
})
