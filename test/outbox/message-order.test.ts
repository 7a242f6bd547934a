/**
 * Goal: the messages of one run appear on its thread in the order in which they were published. A
 * message that cannot be sent delays the later ones for a short time, not forever.
 * Method: bursts of comments and reviews through one or two real publishers; the simulated GitHub
 * answers fast, slowly, or not at all.
 */
import { afterEach, expect, it } from 'vitest'
import type { Claimed } from '../../src/runs/runs.ts'
import type { World } from './world.ts'
import { baseSha, head, hour, minute, openWorld, repo, second } from './world.ts'

const burst = 8
const limits = { spacingMs: second, perMinute: 80, perHour: 500 }
const silent = { anchorPer: null, statusContext: null } as const

let world: World | undefined
afterEach(async () => await world?.close())

async function publishBurst(at: World, claimed: Claimed, count = burst): Promise<void> {
  const publishing = Array.from({ length: count }, (_, i) => i + 1).map((n) => {
    const content = { form: 'text', body: `${n}/${count}` }
    return at.publish(claimed, `part-${n}`, 'github-comment', content)
  })
  await Promise.all(publishing)
}

const inOrder = (count = burst): string[] =>
  Array.from({ length: count }, (_, i) => `${i + 1}/${count}`)

const review = { body: 'A review.', event: 'COMMENT', commitSha: null, comments: [] }

/** The parts on the thread, from the top. */
const shown = ({ github }: World, thread = 5): string[] =>
  github.comments(repo, thread).flatMap(({ body }) => /\d+\/\d+/.exec(body)?.[0] ?? [])

it.each([
  ['without limits', {}],
  ['with a gap between two writes', { limits }],
  ['on a thread that is looked at before the first write', { youngThread: false }],
  ['on such a thread with a gap', { youngThread: false, limits }],
  ['as an App', { app: true, limits }],
])('a burst of comments appears in its order, %s', async (_name, options) => {
  world = await openWorld({ ...options, announcement: silent })
  world.startPublisher()
  world.startPublisher()
  await publishBurst(world, await world.claim(1))
  await world.time.pass(minute)
  expect(shown(world)).toEqual(inOrder())
})

it('also while GitHub takes longer to answer than the gap between two writes', async () => {
  world = await openWorld({ limits, announcement: silent })
  const { github, time } = world
  world.startPublisher()
  github.faults.add({
    on: { route: /^POST .*\/issues\/5\/comments/, times: 3 },
    fault: github.faults.delayedCommit({ afterMs: 4 * second }),
  })
  await publishBurst(world, await world.claim(1))
  await time.pass(2 * minute)
  expect(shown(world)).toEqual(inOrder())
})

it('comments and reviews appear in one order', async () => {
  world = await openWorld({ limits, announcement: silent })
  const { github, time } = world
  world.startPublisher()
  const claimed = await world.claim(1)
  await publishBurst(world, claimed, 2)
  await world.publish(claimed, 'review', 'github-review', review)
  await world.publish(claimed, 'last', 'github-comment', { form: 'text', body: '3/2' })
  await time.pass(minute)
  const writes = github.requests.filter(({ method }) => method === 'POST').map(({ path }) => path)
  const kinds = writes.map((path) => (path.endsWith('/reviews') ? 'review' : 'comment'))
  expect(kinds).toEqual(['comment', 'comment', 'review', 'comment'])
  expect(shown(world)).toEqual(['1/2', '2/2', '3/2'])
})

it('a message that GitHub always fails delays the later ones for a minute', async () => {
  world = await openWorld({ limits, announcement: silent })
  const { github, time } = world
  world.startPublisher()
  const claimed = await world.claim(1)
  github.faults.add({ on: { route: /\/reviews$/, times: 100 }, fault: github.faults.serverError() })
  await world.publish(claimed, 'review', 'github-review', review)
  await publishBurst(world, claimed)
  await time.pass(5 * second)
  expect(shown(world)).toEqual([])
  await time.pass(minute)
  expect(shown(world)).toEqual(inOrder())
  expect((await world.delivery('review'))?.status).toBe('PENDING')
})

it('also when GitHub stops the account in the middle of a burst', async () => {
  world = await openWorld({ limits, announcement: silent })
  const { github, time } = world
  world.startPublisher()
  const claimed = await world.claim(1)
  await publishBurst(world, claimed)
  await time.pass(2.5 * second)
  github.faults.add({
    on: { route: /^POST .*\/issues\/5\/comments/, times: 1 },
    fault: github.faults.secondaryLimit({ retryAfterSeconds: 60 }),
  })
  await time.pass(5 * minute)
  expect(shown(world)).toEqual(inOrder())
})

it('a run that waits behind its own comments delays no other run', async () => {
  world = await openWorld({ limits, announcement: silent })
  const { github, time } = world
  world.startPublisher()
  const first = await world.claim(1)
  github.addPull(repo, { number: 6, headSha: head(6), baseSha, createdAt: time.wallMs() })
  const about = { repo, pr: 6, baseSha, headSha: head(6), threadCreatedAt: time.wallMs() }
  const request = { kind: 'pull_request', type: 'review', ...about } as const
  const other = await world.act(world.runs.claim(request, 'test'))
  await publishBurst(world, first, 30)
  await publishBurst(world, other, 3)
  await time.pass(10 * second)
  expect(shown(world, 6)).toEqual(inOrder(3))
  await time.pass(hour)
  expect(shown(world)).toEqual(inOrder(30))
})
