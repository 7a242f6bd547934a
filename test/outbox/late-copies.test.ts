/**
 * Goal: of several copies that were sent because no answer came, one is left in the end, whichever
 * was found first and however late the others arrive.
 */
import { afterEach, expect, it } from 'vitest'
import type { World } from './world.ts'
import { context, head, hour, openWorld, repo, second } from './world.ts'

let world: World | undefined
afterEach(async () => await world?.close())

const createComment = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments'

it('a second comment that arrives after the first was found is removed', async () => {
  world = await openWorld()
  const { github, time } = world
  // Both arrive late. The first is found before the second exists.
  for (const afterMs of [20 * second, 90 * second]) {
    github.faults.add({
      on: { route: createComment },
      fault: github.faults.delayedCommit({ afterMs }),
    })
  }
  world.startPublisher()
  const claimed = await world.claim()
  await time.pass(60 * second)
  await world.complete(claimed, 'The summary.')
  await time.pass(hour)
  const all = github.allComments(repo, 5)
  expect(all).toHaveLength(2)
  const [kept, removed] = all
  expect(kept).toMatchObject({ deletedAt: null })
  expect(kept?.body).toContain('The summary.')
  expect(removed?.deletedAt).not.toBeNull()
})

it('a pending status that arrives late is closed, even if the next round is unshown', async () => {
  world = await openWorld()
  const { github, time } = world
  const route = 'POST /repos/{owner}/{repo}/statuses/{sha}'
  github.faults.add({ on: { route }, fault: github.faults.delayedCommit({ afterMs: 60 * second }) })
  const publisher = world.startPublisher()
  const claimed = await world.claim()
  await time.pass(15 * second)
  await world.complete(claimed)
  await time.pass(15 * second)
  expect(github.latestStatus(repo, head(1), context)?.state).toBe('success')
  await world.act(publisher.stop())
  const again = await world.claim(1, { rerun: true })
  await world.act(world.runs.cancel(again.run?.id ?? '', 'test'))
  world.startPublisher()
  await time.pass(hour)
  const states = github.statuses(repo, head(1), context).map(({ state }) => state)
  expect(states).toContain('pending')
  expect(states.at(-1)).not.toBe('pending')
})
