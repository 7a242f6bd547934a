/** Goal: an anchor counts as deleted only if two looks, a delay apart, did not find it. */
import { afterEach, expect, it } from 'vitest'
import type { World } from './world.ts'
import { minute, openWorld, repo, second } from './world.ts'

let world: World | undefined
afterEach(async () => await world?.close())

it('a comment missing at a settling read is looked for once more, after the delay', async () => {
  world = await openWorld({ rules: { confirmDelayMs: 5 * second } })
  const { github, time } = world
  world.startPublisher()
  const claimed = await world.claim()
  await time.pass(5 * second)
  // The answer was lost and the comment was found, so it is read again after 15 seconds and 2
  // minutes.
  const route = 'PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}'
  github.faults.add({ on: { route }, fault: github.faults.lostAnswer() })
  await world.complete(claimed, 'The summary.')
  await time.pass(5 * second)
  const [anchor] = github.comments(repo, 5)
  github.deleteCommentAs('ann', anchor?.id ?? 0)
  await time.pass(minute)
  const missed = github.requests.filter(({ method, status, path }) => {
    return method === 'GET' && status === 404 && path.endsWith(`/comments/${anchor?.id}`)
  })
  expect(missed).toHaveLength(2)
  const [first, again] = missed
  expect((again?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(5 * second)
  expect(github.comments(repo, 5)).toHaveLength(1)
})
