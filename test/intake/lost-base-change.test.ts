/**
 * Goal: a pull request whose base changed in a lost event gets its run on the new base by catch-up.
 * A base branch that only moved on starts no new work.
 * Method: whole servers on both databases, against a simulated GitHub that loses webhooks.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { databases, LossyWorld } from './lossy-world.ts'

let world: LossyWorld
afterEach(() => world.stop())

const dev = { baseRef: 'dev', baseSha: 'd'.repeat(40) }

async function runs(): Promise<string[]> {
  await world.runs()
  const { items } = await world.server.app.store.runs.list({}, { limit: 10, cursor: null })
  return items.map(({ baseSha, headSha, state }) => `${baseSha![0]} ${Number(headSha)} ${state}`)
}

const edit = (change: object) => world.then(() => world.github.edit(world.name, 1, change))

describe.each(databases)('on %s, catching up', (database) => {
  beforeEach(async () => {
    world = new LossyWorld({ database, asUser: true })
    await world.start()
    world.openPull(1)
    expect(await runs()).toEqual(['0 100 pending'])
    world.lose('edited')
  })

  it('applies a lost change of the base, once', async () => {
    edit(dev)
    expect(await world.server.catchUp()).toMatchObject({ reconciled: 1 })
    expect(await runs()).toEqual(['d 100 pending', '0 100 superseded'])
    expect(await world.server.catchUp()).toMatchObject({ reconciled: 0 })
  })

  it('applies it although a label arrived after it', async () => {
    edit(dev)
    world.then(() => world.github.labelAs('octocat', world.name, 1, 'urgent'))
    expect(await runs()).toEqual(['0 100 pending'])
    expect(await world.server.catchUp()).toMatchObject({ reconciled: 1 })
    expect(await runs()).toEqual(['d 100 pending', '0 100 superseded'])
    expect(await world.server.catchUp()).toMatchObject({ reconciled: 0 })
  })

  it('applies it together with a lost push', async () => {
    world.lose('synchronize')
    edit(dev)
    world.push(1, 101)
    expect(await world.server.catchUp()).toMatchObject({ reconciled: 1 })
    expect(await runs()).toEqual(['d 101 pending', '0 100 superseded'])
    expect(await world.server.catchUp()).toMatchObject({ reconciled: 0 })
  })

  it('ignores a base branch that only moved on', async () => {
    edit({ baseSha: dev.baseSha })
    expect(await world.server.catchUp()).toMatchObject({ reconciled: 0 })
    expect(await runs()).toEqual(['0 100 pending'])
  })
})
