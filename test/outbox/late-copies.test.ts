/**
 * Goal: of what was sent more than once because nobody answered, one stands in the end, whichever
 * of them was found first and however late the others arrive.
 */
import { afterEach, expect, it } from 'vitest'
import type { World } from './world.ts'
import { hour, openWorld, repo, second } from './world.ts'

let world: World | undefined
afterEach(async () => await world?.close())

const createComment = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments'

it('a second comment that arrives after the first was found is removed', async () => {
  world = await openWorld()
  const { github, time } = world
  // Both are on their way for long; the first is found before the second is there.
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
