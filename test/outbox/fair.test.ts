/**
 * Goal: nobody waits for somebody else's budget or for somebody else's slow answers.
 * Method: one installation with two hundred writes due, and another, or a read, beside it.
 */
import { afterEach, expect, it } from 'vitest'
import type { World } from './world.ts'
import {
  baseSha,
  context,
  head,
  hour,
  minute,
  openWorld,
  repo,
  second,
  statusWrites,
} from './world.ts'

const busy = 200
const limits = { spacingMs: second, perMinute: 80, perHour: 500 }
const statusOnly = { anchorPer: null, statusContext: context, checkName: null } as const

let world: World | undefined
afterEach(async () => await world?.close())

/** A pull request of its own, claimed: its status is due. */
async function claimAt(at: World, place: string, n: number): Promise<void> {
  const createdAt = at.time.wallMs()
  at.github.addPull(place, { number: 100 + n, headSha: head(1000 + n), baseSha, createdAt })
  const about = { repo: place, pr: 100 + n, baseSha, headSha: head(1000 + n) }
  const request = { kind: 'pull_request', type: 'review', threadCreatedAt: createdAt } as const
  await at.now(at.runs.claim({ ...request, ...about }, 'test'))
}

async function claimMany(at: World, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await claimAt(at, repo, n)
}

const other = 'other/one'

it("sends one installation's only write at once while another has two hundred due", async () => {
  world = await openWorld({ app: true, limits, announcement: statusOnly })
  const { github, time } = world
  github.addRepository(other)
  await claimMany(world, busy)
  await time.pass(second)
  await claimAt(world, other, busy)
  world.startPublisher()
  await time.pass(3 * second)
  expect(github.latestStatus(other, head(1000 + busy), context)?.state).toBe('pending')
  // Nor does the busy one lose anything by it.
  await time.pass(5 * minute)
  expect(statusWrites(github)).toBe(busy + 1)
})

it('leaves hands to the others while GitHub is slow to answer one installation', async () => {
  world = await openWorld({ app: true, announcement: statusOnly })
  const { github, time } = world
  github.addRepository(other)
  world.startPublisher()
  // What is new is known to be whose from here on.
  await claimAt(world, repo, busy + 1)
  await claimAt(world, other, busy + 2)
  await time.pass(2 * second)
  const id = github.repository(repo).id
  github.faults.add({
    on: { route: new RegExp(`^POST /repositories/${id}/statuses`), times: busy },
    fault: github.faults.slowBody({ parts: 4, pauseMs: 2 * second }),
  })
  await claimMany(world, busy)
  await time.pass(second)
  await claimAt(world, other, busy)
  await time.pass(2 * second)
  expect(github.latestStatus(other, head(1000 + busy), context)?.state).toBe('pending')
})

it('reads what may have settled late on time while two hundred writes wait', async () => {
  world = await openWorld({ limits })
  const { github, time } = world
  world.startPublisher()
  const claimed = await world.claim(1)
  await time.pass(5 * second)
  github.faults.add({
    on: { route: /^PATCH .*\/issues\/comments/, times: 1 },
    fault: github.faults.delayedCommit({ afterMs: 20_000 }),
  })
  await world.report(claimed, 'half way')
  await time.pass(14 * second)
  await world.complete(claimed)
  await time.pass(3 * second)
  await claimMany(world, busy)
  await time.pass(40 * second)
  expect(github.comments(repo, 5)[0]?.body).not.toContain('running')
})

it('asks the store about a write that waits no oftener than it can be sent', async () => {
  const perHour = 20
  world = await openWorld({ limits: { perHour }, announcement: statusOnly })
  const { outbox } = world.store
  const begin = outbox.beginAttempt.bind(outbox)
  let asked = 0
  outbox.beginAttempt = async (request) => {
    asked += 1
    return await begin(request)
  }
  await claimMany(world, busy)
  world.startPublisher()
  await world.time.pass(2 * hour + 5 * minute)
  const sent = 3 * perHour
  expect(statusWrites(world.github)).toBe(sent)
  // Once to be put in the queue, and when it is its turn; an hour opens with a refusal at most.
  expect(asked).toBeLessThanOrEqual(busy + sent + 10)
})
