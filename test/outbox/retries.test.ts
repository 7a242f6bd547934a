/**
 * Goal: when and how often a failed write is repeated.
 * Method: the simulated GitHub refuses the first writes, and counts.
 */
import { afterEach, expect, it } from 'vitest'
import type { RetryConfig } from '../../src/config.ts'
import { retryRules } from '../../src/settings/run-types/publishing-rules.ts'
import type { World } from './world.ts'
import { context, head, hour, minute, openWorld, repo, second, warnings } from './world.ts'

let world: World | undefined
afterEach(async () => await world?.close())

const statuses = /^POST .*\/statuses\//
const announcement = { anchorPer: null }

async function worldOf(retry: RetryConfig): Promise<World> {
  const rules = { retryOf: retryRules({ 'github-status': { retry } }) }
  return await openWorld({ rules, announcement })
}

/** The times between two status writes. */
function gaps({ github }: World): readonly number[] {
  const at = github.requests
    .filter(({ method, path }) => statuses.test(`${method} ${path}`))
    .map((request) => request.at)
  return at.slice(1).map((time, i) => time - (at[i] ?? 0))
}

it('scenario 46: two retries from 500 ms on: 503, 503, 200 are three calls', async () => {
  world = await worldOf({ maxRetries: 2, initialMs: 500 })
  const { github, time } = world
  github.faults.add({ on: { route: statuses, times: 2 }, fault: github.faults.refuse(503) })
  world.startPublisher()
  await world.claim()
  await time.pass(minute)
  expect(gaps(world)).toEqual([500, 1000])
  expect(github.latestStatus(repo, head(1), context)?.state).toBe('pending')
})

it('scenario 46: one retry: two calls, then an error', async () => {
  world = await worldOf({ maxRetries: 1, initialMs: 500 })
  const { github, time } = world
  github.faults.add({ on: { route: statuses, times: 9 }, fault: github.faults.refuse(503) })
  world.startPublisher()
  await world.claim()
  await time.pass(hour)
  expect(gaps(world)).toEqual([500])
  const failed = { status: 'FAILED', reason: 'retries_exhausted' }
  expect(await world.delivery('status')).toMatchObject(failed)
})

it('a delivery that fails is logged at once, with its reason', async () => {
  world = await worldOf({ maxRetries: 1, initialMs: 500 })
  const { github, time } = world
  github.faults.add({ on: { route: statuses, times: 9 }, fault: github.faults.refuse(503) })
  world.startPublisher()
  await world.claim()
  await time.pass(minute)
  const { id, runId } = (await world.delivery('status'))!
  const facts = { level: 40, delivery_id: id, run_id: runId, reason: 'retries_exhausted' }
  expect(warnings.map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({
      ...facts,
      msg:
        'A delivery failed: all retries failed (retries_exhausted). To see what to do: ' +
        `holdfast why ${id}`,
    }),
  ])
})

it('a connection that never opens is retried as often', async () => {
  world = await worldOf({ maxRetries: 2, initialMs: 500 })
  const { github, time } = world
  github.faults.add({ on: { route: statuses, times: 9 }, fault: github.faults.refused() })
  world.startPublisher()
  await world.claim()
  await time.pass(hour)
  expect(await world.delivery('status')).toMatchObject({ reason: 'retries_exhausted' })
})

it('looks that fail are not counted as retries', async () => {
  world = await worldOf({ maxRetries: 1, initialMs: 500 })
  const { github, time } = world
  github.faults.add({ on: { route: statuses, times: 1 }, fault: github.faults.refuse(503) })
  const lists = /^GET .*\/statuses/
  github.faults.add({ on: { route: lists, times: 3 }, fault: github.faults.refuse(503) })
  world.startPublisher()
  await world.claim()
  await time.pass(hour)
  expect(github.latestStatus(repo, head(1), context)?.state).toBe('pending')
})

it('a failure of an earlier version leaves the next version all its retries', async () => {
  world = await worldOf({ maxRetries: 1, initialMs: 500 })
  const { github, time } = world
  github.faults.add({ on: { route: statuses, times: 2 }, fault: github.faults.refuse(503) })
  world.startPublisher()
  const claimed = await world.claim()
  await time.pass(10 * second)
  github.faults.add({ on: { route: statuses, times: 1 }, fault: github.faults.refuse(503) })
  await world.complete(claimed)
  await time.pass(minute)
  expect(github.latestStatus(repo, head(1), context)?.state).toBe('success')
})

const tooQuickly = {
  message: 'Validation Failed',
  errors: [{ resource: 'PullRequestReview', code: 'custom', message: 'was submitted too quickly' }],
}
const review = { body: 'hello', event: 'COMMENT', commitSha: null, comments: [] }

it('a 422 that does not say what is wrong is tried again', async () => {
  world = await openWorld()
  const { github, time } = world
  world.startPublisher()
  const claimed = await world.claim()
  await time.pass(5 * second)
  const route = /^POST .*\/reviews$/
  github.faults.add({ on: { route, times: 1 }, fault: github.faults.refuse(422, tooQuickly) })
  await world.publish(claimed, 'findings', 'github-review', review)
  await time.pass(minute - second)
  expect(github.reviews(repo, 5)).toHaveLength(0)
  await time.pass(5 * second)
  expect(github.reviews(repo, 5)).toHaveLength(1)
  expect(await world.delivery('findings')).toMatchObject({ status: 'SENT' })
})

it('a 422 that never says what is wrong fails after four more tries', async () => {
  world = await openWorld({ rules: { unclearAfterMs: [1000, 2000, 3000, 4000] } })
  const { github, time } = world
  world.startPublisher()
  const claimed = await world.claim()
  await time.pass(5 * second)
  const route = /^POST .*\/reviews$/
  const refused = github.faults.add({
    on: { route, times: 9 },
    fault: github.faults.refuse(422, tooQuickly),
  })
  await world.publish(claimed, 'findings', 'github-review', review)
  await time.pass(minute)
  expect(refused.hits).toBe(5)
  expect(await world.delivery('findings')).toMatchObject({ status: 'FAILED', reason: 'invalid' })
})

it.each([
  ['a field', { errors: [{ resource: 'IssueComment', code: 'custom', field: 'body' }] }],
  ['a known code', { errors: [{ resource: 'PullRequestReview', code: 'missing_field' }] }],
  ['only a text', { errors: ['Can not approve your own pull request'] }],
  ['nothing', {}],
])('a 422 that names %s is final at once', async (_what, body) => {
  world = await openWorld()
  const { github, time } = world
  world.startPublisher()
  const claimed = await world.claim()
  await time.pass(5 * second)
  const route = /^POST .*\/reviews$/
  const refused = github.faults.refuse(422, { message: 'Validation Failed', ...body })
  github.faults.add({ on: { route, times: 1 }, fault: refused })
  await world.publish(claimed, 'findings', 'github-review', review)
  await time.pass(5 * second)
  expect(await world.delivery('findings')).toMatchObject({ status: 'FAILED', reason: 'invalid' })
})
