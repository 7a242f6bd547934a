/**
 * Goal: a server that stops finishes the writes that it has started, and publishes nothing about
 * the stop: runs are in the store and the next server continues with them.
 * Method: the simulated GitHub counts what it receives after the stop.
 */
import { afterEach, expect, it } from 'vitest'
import type { World } from './world.ts'
import { context, creates, head, hour, openWorld, repo, second, statusWrites } from './world.ts'

let world: World | undefined
afterEach(async () => await world?.close())

const comments = 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments'

it('a stop during a write finishes it and starts no other (scenario 60)', async () => {
  const here = await openWorld()
  world = here
  const { github, time } = here
  const slow = github.faults.add({ on: { route: comments }, fault: github.faults.lateAnswer(5000) })
  here.startPublisher()
  const claimed = await here.claim()
  // The status is a write of its own, and may come before the comment or after it.
  await time.passUntil(() => slow.hits > 0 && statusWrites(github) > 0, hour)
  const before = github.requests.length
  const stoppedAt = time.monotonicMs()
  const stopped = here.stopPublishers()
  // Only now: while a report is stored time may pass, and a publisher that goes on would send it.
  await here.report(claimed, 'while it stops')
  await here.act(stopped)
  expect(time.monotonicMs() - stoppedAt).toBeGreaterThan(4 * second)
  const providerId = String(github.comments(repo, 5)[0]?.id)
  expect(await here.delivery('anchor')).toMatchObject({ attemptId: null, providerId })
  await time.pass(hour)
  expect(github.requests.length).toBe(before)
})

it('a stop with active runs posts no notice; the next server continues (scenario 60)', async () => {
  const here = await openWorld()
  world = here
  const { github, time } = here
  const publisher = here.startPublisher()
  const claimed = await here.claim()
  await time.pass(10 * second)
  const [shown] = github.comments(repo, 5)
  const before = github.requests.length
  await here.act(here.stopPublishers())
  // A delivery is due, and the publisher is woken: one that did not stop would send it.
  await here.report(claimed, 'after the stop')
  publisher.wake()
  await time.pass(hour)
  expect(github.requests.length).toBe(before)
  expect(github.comments(repo, 5)).toEqual([shown])
  expect(github.latestStatus(repo, head(1), context)?.state).toBe('pending')
  expect(await here.act(here.store.runs.get(claimed.run?.id ?? ''))).toMatchObject({
    state: 'running',
  })
  here.startPublisher()
  await time.pass(10 * second)
  expect(github.comments(repo, 5)).toMatchObject([{ id: shown?.id }])
  expect(github.comments(repo, 5)[0]?.body).toContain('after the stop')
  await here.complete(claimed, 'Done after the restart.')
  await time.pass(10 * second)
  expect(github.comments(repo, 5)).toMatchObject([{ id: shown?.id }])
  expect(github.comments(repo, 5)[0]?.body).toContain('Done after the restart.')
  expect([creates(github), statusWrites(github)]).toEqual([1, 2])
})
