/**
 * Goal: a label event that arrives after a lost event contains what that event changed, but does
 * not prove that the event arrived: catch-up still does once what the event would have done.
 * Method: whole servers on both databases, against a simulated GitHub that loses webhooks.
 */
import { afterEach, describe, expect, it } from 'vitest'
import type { Config } from '../../src/config.ts'
import { databases, LossyWorld } from './lossy-world.ts'

let world: LossyWorld
afterEach(() => world.stop())

describe.each(databases)('on %s, catching up', (database) => {
  const start = async (config?: Config) => {
    world = new LossyWorld({ database, asUser: true, ...(config && { config }) })
    await world.start()
    // Holdfast knows a repository only after an event from it.
    world.openPull(2, true)
    world.then(() => world.github.edit(world.name, 2, { draft: false }))
    await world.runs()
  }
  let labels = 0
  const label = () =>
    world.then(() => world.github.labelAs('octocat', world.name, 1, `label ${(labels += 1)}`))
  const close = () => world.then(() => world.github.close(world.name, 1))
  const reopen = () => world.then(() => world.github.reopen(world.name, 1))
  const ready = () => world.then(() => world.github.edit(world.name, 1, { draft: false }))

  /** The runs of the pull request after a label and a catch-up pass; another pass finds nothing. */
  async function caughtUp(found = 1): Promise<string[]> {
    label()
    await world.runs()
    expect(await world.server.catchUp()).toMatchObject({ reconciled: found })
    const after = await world.runs()
    expect(await world.server.catchUp()).toMatchObject({ reconciled: 0 })
    label()
    await world.runs()
    expect(await world.server.catchUp()).toMatchObject({ reconciled: 0 })
    expect(await world.runs()).toEqual(after)
    return after.filter((run) => run.startsWith('#1 '))
  }

  it('ends the run of a pull request whose closing was lost', async () => {
    await start()
    world.openPull(1)
    await world.runs()
    world.lose('closed')
    close()
    expect(await caughtUp()).toEqual(['#1 100 cancelled'])
  })

  it('ends it also if an earlier reopening was lost', async () => {
    await start()
    world.openPull(1)
    await world.runs()
    close()
    await world.runs()
    world.lose('reopened')
    reopen()
    world.push(1, 101)
    await world.runs()
    world.lose('closed')
    close()
    expect(await caughtUp()).toEqual(['#1 100 cancelled', '#1 101 cancelled'])
  })

  it('works on a pull request whose reopening was lost', async () => {
    await start()
    world.openPull(1)
    await world.runs()
    close()
    await world.runs()
    world.lose('reopened')
    reopen()
    expect(await caughtUp()).toEqual(['#1 100 pending'])
  })

  it('works on a draft whose ready event was lost', async () => {
    await start()
    world.openPull(1, true)
    await world.runs()
    world.lose('ready_for_review')
    ready()
    expect(await caughtUp()).toEqual(['#1 100 pending'])
  })

  const listeningTo = (action: string): Config => {
    return { runs: { greet: { on: { pull_request: [action] }, run: 'remote', anchor: false } } }
  }

  it('starts a type that listens only to the opening', async () => {
    await start(listeningTo('opened'))
    world.lose('opened')
    world.openPull(1)
    expect(await caughtUp()).toEqual(['#1 100 pending'])
  })

  it('starts a type that waits for the end of a draft, also after a lost push', async () => {
    await start(listeningTo('ready_for_review'))
    world.openPull(1, true)
    world.lose('ready_for_review')
    world.lose('synchronize')
    ready()
    world.push(1, 101)
    expect(await caughtUp()).toEqual(['#1 101 pending'])
  })

  it('starts nothing if the event arrived and led to nothing', async () => {
    const own = 'holdfast-bot'
    await start()
    world.openPull(1, true)
    world.then(() => world.github.edit(world.name, 1, { draft: false }, own))
    expect(await caughtUp(0)).toEqual([])
    close()
    world.then(() => world.github.reopen(world.name, 1, own))
    expect(await caughtUp(0)).toEqual([])
  })
})
