/**
 * Goal: after a machine's clock that was a day ahead is corrected, nothing waits for a day.
 * Method: the whole life of a run against the simulated GitHub, whose own clock is always right.
 */
import { afterEach, expect, it } from 'vitest'
import type { World } from './world.ts'
import { context, head, hour, minute, openWorld, repo, second } from './world.ts'

let world: World | undefined
afterEach(async () => await world?.close())

it('what was refused while the clock was ahead is sent soon after the correction', async () => {
  world = await openWorld()
  const { github, time } = world
  world.startPublisher()
  time.jump(24 * hour)
  const route = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments'
  const comment = github.faults.add({ on: { route }, fault: github.faults.serverError(503) })
  const status = github.faults.add({
    on: { route: 'POST /repos/{owner}/{repo}/statuses/{sha}' },
    fault: github.faults.serverError(503),
  })
  const run = await world.claim(1)
  await time.pass(1500)
  expect([comment.hits, status.hits]).toEqual([1, 1])
  time.jump(-24 * hour)
  await time.pass(5 * second)
  await world.complete(run)
  await time.pass(10 * minute)
  expect(github.latestStatus(repo, head(1), context)?.state).toBe('success')
  expect(github.comments(repo, 5)).toHaveLength(1)
  for (const { status: at } of await world.deliveries()) expect(at).toBe('SENT')
})
