/**
 * Goal: an unanswered request that GitHub carries out minutes later does not decide what is shown.
 * Method: the simulated GitHub commits a write ten minutes late, after the end was shown.
 */
import { afterEach, expect, it } from 'vitest'
import type { World } from './world.ts'
import { context, head, hour, minute, openWorld, repo, second } from './world.ts'

let world: World | undefined
afterEach(async () => await world?.close())

it('a pending status that arrives ten minutes late is overwritten again', async () => {
  world = await openWorld()
  const { github, time } = world
  const route = 'POST /repos/{owner}/{repo}/statuses/{sha}'
  const fault = github.faults.delayedCommit({ afterMs: 10 * minute })
  github.faults.add({ on: { route }, fault })
  world.startPublisher()
  const claimed = await world.claim()
  await time.pass(30 * second)
  await world.complete(claimed)
  await time.pass(hour)
  const states = github.statuses(repo, head(1), context).map(({ state }) => state)
  expect(states).toEqual(['pending', 'success', 'pending', 'success'])
})

it('an edit that arrives ten minutes late is overwritten again', async () => {
  world = await openWorld()
  const { github, time } = world
  world.startPublisher()
  const claimed = await world.claim()
  await time.pass(5 * second)
  const route = 'PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}'
  const fault = github.faults.delayedCommit({ afterMs: 10 * minute })
  github.faults.add({ on: { route }, fault })
  await world.report(claimed, 'half way')
  await time.pass(30 * second)
  await world.complete(claimed, 'The summary.')
  await time.pass(hour)
  const [comment] = github.comments(repo, 5)
  const shown = comment?.versions.map(({ body }) => body.includes('The summary.'))
  expect(shown?.slice(-3)).toEqual([true, false, true])
})

it('a comment that is created ten minutes late is removed', async () => {
  world = await openWorld()
  const { github, time } = world
  const route = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments'
  const fault = github.faults.delayedCommit({ afterMs: 10 * minute })
  github.faults.add({ on: { route }, fault })
  world.startPublisher()
  const claimed = await world.claim()
  await time.pass(minute)
  await world.complete(claimed, 'The summary.')
  await time.pass(hour)
  expect(github.allComments(repo, 5)).toHaveLength(2)
  const [only, ...more] = github.comments(repo, 5)
  expect(only?.body).toContain('The summary.')
  expect(more).toEqual([])
})
