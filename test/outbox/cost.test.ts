// Goal: how many calls to GitHub a run costs, as GitHub counts them.
import { afterEach, expect, it } from 'vitest'
import type { World } from './world.ts'
import {
  context,
  creates,
  edits,
  head,
  minute,
  openWorld,
  reads,
  repo,
  second,
  statusWrites,
} from './world.ts'

let world: World | undefined
afterEach(async () => await world?.close())

it('one create, an edit per window, two statuses and one read of the repository', async () => {
  world = await openWorld({ limits: { spacingMs: second } })
  const { github, time } = world
  world.startPublisher()
  const claimed = await world.claim()
  for (let i = 1; i <= 20; i++) {
    await time.pass(2 * second)
    await world.report(claimed, `step ${i} of 20`)
  }
  await world.complete(claimed, 'All good.')
  await time.pass(10 * second)
  expect(creates(github)).toBe(1)
  expect(edits(github)).toBeLessThanOrEqual(22)
  expect(statusWrites(github)).toBe(2)
  expect(github.count('GET /repos/{owner}/{repo}')).toBe(1)
  expect(reads(github)).toBe(1)
  const [anchor, ...more] = github.comments(repo, 5)
  expect(more).toEqual([])
  expect(anchor?.body).toContain('All good.')
  expect(anchor?.body).toContain('step 20 of 20')
  expect(github.latestStatus(repo, head(1), context)?.state).toBe('success')
})

it('fifty reports in ten seconds make at most six edits; the last is shown (M7)', async () => {
  world = await openWorld({ limits: { spacingMs: second } })
  const { github, time } = world
  world.startPublisher()
  const claimed = await world.claim()
  await time.pass(5 * second)
  const before = edits(github)
  for (let i = 1; i <= 50; i++) {
    await world.report(claimed, `report ${i}`)
    await time.pass(200)
  }
  await time.pass(3 * second)
  expect(edits(github) - before).toBeLessThanOrEqual(6)
  expect(github.comments(repo, 5)[0]?.body).toContain('report 50')
})

it('shows the progress of an old run less and less often', async () => {
  world = await openWorld()
  const { github, time } = world
  world.startPublisher()
  const claimed = await world.claim()
  await time.pass(11 * minute)
  const before = edits(github)
  for (let i = 1; i <= 60; i++) {
    await world.report(claimed, `report ${i}`)
    await time.pass(10 * second)
  }
  expect(edits(github) - before).toBeLessThanOrEqual(11)
  const finished = world.complete(claimed, 'At last.')
  await finished
  await time.pass(second)
  expect(github.comments(repo, 5)[0]?.body).toContain('At last.')
})
