/**
 * Goal: a comment that asks for work applies only to commits that existed when it was written. A
 * push right after a maintainer's comment starts nothing, and the thread says so once.
 * Method: whole servers on both databases, against the simulated GitHub, with webhooks that are
 * held back.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../scenarios/until.ts'
import { databases, LossyWorld } from './lossy-world.ts'

const page = { limit: 100, cursor: null }
const refused = /^Not started: chat\. `octocat` asked for it at \d\d:\d\d:\d\d UTC, and commit 0000/

let world: LossyWorld
afterEach(() => world.stop())

describe.each(databases)('on %s', (database) => {
  beforeEach(async () => {
    const on = { issue_comment: ['created'] }
    const config = {
      runs: { chat: { on, run: 'remote', anchor: false }, other: { on, run: 'remote' } },
    } as const
    world = new LossyWorld({ database, asUser: true, config })
    await world.start()
    world.openPull(1)
    await world.hook.idle()
  })

  const reasons = async () => {
    const { items } = await world.server.app.store.inbox.list({ event: 'issue_comment' }, page)
    return items.flatMap(({ outcomes }) => outcomes.map(({ reason }) => reason))
  }
  const refusalComments = () =>
    world.github
      .comments(world.name, 1)
      .map(({ body }) => body)
      .filter((body) => body.startsWith('Not started'))
  /** Includes refusals that are not sent yet. */
  const refusals = async () => {
    const { items } = await world.server.app.store.outbox.list({}, page)
    return items.filter(({ name }) => name.startsWith('refusal '))
  }
  const firstRefusal = () =>
    until(
      async () => refusalComments(),
      (bodies) => bodies.length > 0,
    )

  it.each(['received', 'not received yet'])(
    'a push right after the comment, %s, is refused, once on the thread',
    async (how) => {
      world.hook.addFault({ fault: 'hold', event: 'issue_comment' })
      world.comment(1, '/review')
      if (how === 'not received yet') world.hook.addFault({ fault: 'hold', action: 'synchronize' })
      world.push(1, 101)
      await world.hook.idle()
      world.hook.release('oldest first')
      expect(await world.runs()).toEqual(['#1 101 skipped', '#1 101 skipped'])
      expect(await reasons()).toEqual(['head-newer-than-comment', 'head-newer-than-comment'])
      expect(await firstRefusal()).toEqual([expect.stringMatching(refused)])
      // After a person has looked at the new head and asks again, it starts.
      world.comment(1, '/review')
      expect(await world.runs()).toEqual(['#1 101 pending', '#1 101 pending'])
      expect(await refusals()).toHaveLength(1)
    },
  )

  it('a push in the same second may be a later one, and is refused', async () => {
    world.hook.addFault({ fault: 'hold', event: 'issue_comment' })
    world.then(() => {
      world.github.push(world.name, 1, '101'.padStart(40, '0'), { by: 'octocat' })
      world.github.commentAs('octocat', world.name, 1, '/review')
    })
    await world.hook.idle()
    world.hook.release()
    expect(await world.runs()).toEqual(['#1 101 skipped', '#1 101 skipped'])
  })

  it('a push before the comment starts, also if its webhook arrives later', async () => {
    world.hook.addFault({ fault: 'hold', action: 'synchronize' })
    world.push(1, 101)
    world.comment(1, '/review')
    expect(await world.runs()).toEqual(['#1 101 pending', '#1 101 pending'])
    world.hook.release()
    expect(await world.runs()).toEqual(['#1 101 pending', '#1 101 pending'])
    expect(refusalComments()).toEqual([])
  })
})
