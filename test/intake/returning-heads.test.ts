/**
 * Goal: a head that comes back, or whose event was lost, becomes the current head: by the next
 * comment on it, when a draft becomes ready, and by catch-up, whatever other events arrived
 * meanwhile.
 * Method: whole servers on both databases, against a simulated GitHub that loses webhooks.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../scenarios/until.ts'
import { databases, LossyWorld } from './lossy-world.ts'

const page = { limit: 10, cursor: null }

let world: LossyWorld
afterEach(() => world.stop())

describe.each(databases)('on %s, catching up', (database) => {
  beforeEach(async () => {
    world = new LossyWorld({ database, asUser: true })
    await world.start()
    world.openPull(1)
    world.push(1, 101)
    expect(await world.runs()).toEqual(['#1 100 superseded', '#1 101 pending'])
  })

  it('finds a head that came back by a lost force-push', async () => {
    world.lose('synchronize')
    world.push(1, 100)
    expect(await world.server.catchUp()).toMatchObject({ reconciled: 1 })
    expect(await world.runs()).toEqual(['#1 100 pending', '#1 101 superseded'])
    expect(await world.server.catchUp()).toMatchObject({ reconciled: 0 })
  })

  it.each(['labeled', 'locked', 'edited'])(
    'finds a lost push although %s arrived after it',
    async (action) => {
      world.lose('synchronize')
      world.push(1, 102)
      world.then(() => {
        const { github, name } = world
        if (action === 'labeled') github.labelAs('octocat', name, 1, 'urgent')
        else if (action === 'locked') github.lock(name, 1)
        else github.edit(name, 1, { title: 'Another title' })
      })
      expect((await world.runs()).at(-1)).toBe('#1 101 pending')
      expect(await world.server.catchUp()).toMatchObject({ reconciled: 1 })
      expect((await world.runs()).slice(1)).toEqual(['#1 101 superseded', '#1 102 pending'])
    },
  )
})

describe.each(databases)('on %s, a comment', (database) => {
  beforeEach(async () => {
    const config = {
      runs: { chat: { on: { issue_comment: ['created'] }, run: 'remote' } },
    } as const
    world = new LossyWorld({ database, asUser: true, config })
    await world.start()
  })

  it('on A, on B and on A again starts the current head each time', async () => {
    world.openPull(1)
    world.comment(1, '/go')
    expect(await world.runs()).toEqual(['#1 100 pending'])
    world.push(1, 101)
    world.comment(1, '/go')
    expect(await world.runs()).toEqual(['#1 100 superseded', '#1 101 pending'])
    // The order of arrival decided, so GitHub is asked. It must answer before the next event.
    await until(
      () => world.server.app.store.audit.list({ type: 'run.head_verified' }, page),
      ({ items }) => items.length === 1,
    )
    world.push(1, 100)
    world.comment(1, '/go')
    expect(await world.runs()).toEqual(['#1 100 pending', '#1 101 superseded'])
  })
})

describe.each(databases)('on %s, a draft', (database) => {
  it('that went back to an earlier head is worked on again when it is ready', async () => {
    world = new LossyWorld({ database })
    await world.start()
    world.openPull(1)
    world.push(1, 101)
    world.then(() => world.github.edit(world.name, 1, { draft: true }))
    world.push(1, 100)
    expect(await world.runs()).toEqual(['#1 100 superseded', '#1 101 pending'])
    world.then(() => world.github.edit(world.name, 1, { draft: false }))
    expect(await world.runs()).toEqual(['#1 100 pending', '#1 101 superseded'])
  })
})
