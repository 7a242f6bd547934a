/**
 * Goal: a fast clock of a caller loses nothing: an event that GitHub sends after the claim is newer
 * than the claim, whatever time the claim has.
 * Method: whole servers on both databases, against a simulated GitHub.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { databases, LossyWorld, type Database } from './lossy-world.ts'

let world: LossyWorld
afterEach(() => world.stop())

/** A claim of a program with a fast clock, which sends its own time instead of GitHub's. */
async function claim(head: number, aheadMs: number) {
  const { runs, store } = world.server.app
  const sha = (mark: number | string) => String(mark).padStart(40, '0')
  const commits = { baseSha: sha('b'), headSha: sha(head) }
  const where = { kind: 'pull_request', type: 'review', repo: world.name, pr: 1 } as const
  const eventAt = store.now() + aheadMs
  return await runs.claim({ ...where, ...commits, action: 'synchronize', eventAt }, 'caller')
}

const claims = databases.flatMap((database) =>
  [9000, 240_000].map((aheadMs) => [database, aheadMs] as const),
)

async function start(database: Database): Promise<void> {
  world = new LossyWorld({ database, asUser: true })
  await world.start()
  world.openPull(1)
  expect(await world.runs()).toEqual(['#1 100 pending'])
}

describe.each(claims)('on %s, after a claim whose clock was %d ms fast', (database, aheadMs) => {
  beforeEach(() => start(database))

  it.each([
    ['of the head that is there', 100],
    ['of a head that nobody has told of', 101],
  ])('%s, a push is the head', async (_what, head) => {
    await claim(head, aheadMs)
    world.push(1, 102)
    expect(await world.runs()).toContain('#1 102 pending')
  })

  it('closing the pull request ends its run', async () => {
    await claim(100, aheadMs)
    world.then(() => world.github.close(world.name, 1))
    expect(await world.runs()).toEqual(['#1 100 cancelled'])
  })

  it('its failed run is retried by the next event', async () => {
    const { runs, store } = world.server.app
    const [run] = (await store.runs.list({}, { limit: 1, cursor: null })).items
    await runs.cancel(run!.id, 'test')
    expect(await claim(100, aheadMs)).toMatchObject({ reason: 'retry' })
    await runs.cancel(run!.id, 'test')
    world.then(() => world.github.close(world.name, 1))
    world.then(() => world.github.reopen(world.name, 1))
    expect(await world.runs()).toEqual(['#1 100 pending'])
  })
})

describe.each(databases)('on %s', (database) => {
  it('closing it ends its run, although the claim seems to be slightly later', async () => {
    await start(database)
    await claim(100, 2000)
    // GitHub's clock is behind the caller's clock.
    world.github.close(world.name, 1)
    expect(await world.runs()).toEqual(['#1 100 cancelled'])
  })

  it('an older closing does not end it if it was reopened since', async () => {
    await start(database)
    world.hook.addFault({ fault: 'hold', action: 'closed' })
    world.github.close(world.name, 1)
    world.lose('reopened')
    world.github.reopen(world.name, 1)
    await claim(100, 2000)
    world.hook.release()
    expect(await world.runs()).toEqual(['#1 100 pending'])
  })
})
