/**
 * Goal: two servers on one PostgreSQL act as one publisher. A change that both receive at the same
 * time is shown once, they share one budget, and one server finishes what a killed one left.
 * Method: real servers; every request of a run goes to both at once. The simulated GitHub says what
 * was written and when.
 */
import { expect, it, vi, type TestContext } from 'vitest'
import { onPostgres } from '../scenarios/server-data.ts'
import type { Server } from '../scenarios/server.ts'
import { until } from '../scenarios/until.ts'
import { checkPublished } from './check-published.ts'
import { PublishWorld, shortWaits, type PullStory } from './publish-world.ts'

vi.setConfig({ testTimeout: 180_000 })

interface Pair {
  readonly world: PublishWorld
  readonly servers: readonly [Server, Server]
  readonly stories: readonly PullStory[]
}

async function startPair(
  { onTestFinished }: TestContext,
  pulls: number,
  env: Record<string, string>,
): Promise<Pair> {
  const world = await PublishWorld.open(onPostgres)
  onTestFinished(() => world.close())
  const servers = await Promise.all([world.start(env), world.start(env)])
  const stories = Array.from({ length: pulls }, (_, index) => world.pull(index + 1))
  return { world, servers, stories }
}

/** Sends this request of all runs to both servers at once. Resolves when all of it is shown. */
async function requestOfBoth(
  { servers, stories }: Pair,
  step: 'claim' | 'reportStatus' | 'complete',
): Promise<void> {
  const asked = stories.flatMap((story) => servers.map(({ admin }) => story[step](admin)))
  await Promise.all(asked)
  await Promise.all(stories.map((story) => story.shown(servers[0].admin)))
}

const writesOf = ({ github }: PublishWorld) =>
  github.requests.filter(({ method }) => method !== 'GET')

it.concurrent('two servers show each of twenty runs once, as fast as one', async (test) => {
  const spacingMs = 200
  const pair = await startPair(test, 20, { HOLDFAST_WRITE_SPACING_MS: String(spacingMs) })
  let seen = 0
  for (const step of ['claim', 'reportStatus', 'complete'] as const) {
    await requestOfBoth(pair, step)
    const writes = writesOf(pair.world).slice(seen)
    seen += writes.length
    const spannedMs = writes.at(-1)!.at - writes[0]!.at
    // Two servers without a shared budget would take half as long.
    expect(spannedMs, step).toBeGreaterThan(0.8 * spacingMs * (writes.length - 1))
  }
  expect(pair.stories.flatMap((story) => checkPublished(story))).toEqual([])
})

it.concurrent('two servers share the budget of a minute', async (test) => {
  const pair = await startPair(test, 30, { HOLDFAST_WRITES_PER_MINUTE: '40' })
  const { world, servers, stories } = pair
  await Promise.all(stories.map((story, index) => story.claim(servers[index % 2]!.admin)))
  // Deliveries in a queue first wait for their turn, then for the budget.
  await until(
    async () => writesOf(world).length,
    (count) => count >= 40,
  )
  const open = await until(
    () => servers[0].admin.get('/v1/deliveries?status=PENDING&limit=1000'),
    ({ body }) => body.items.every((item) => 'wait' in item && item.wait === 'budget'),
  )
  expect(writesOf(world)).toHaveLength(40)
  expect(open.body.items).toHaveLength(20)
})

it.concurrent('one server finishes what a killed server had started', async (test) => {
  const pair = await startPair(test, 20, { ...shortWaits, HOLDFAST_WRITE_SPACING_MS: '50' })
  const { world, servers, stories } = pair
  const [doomed, survivor] = servers
  await Promise.all(stories.map((story) => story.claim(survivor.admin)))
  await until(
    async () => writesOf(world).length,
    (count) => count >= 10,
  )
  await doomed.kill()
  const left = 2 * stories.length - writesOf(world).length
  expect(left, 'writes left for the other one').toBeGreaterThan(10)
  await Promise.all(stories.map((story) => story.finish(survivor.admin)))
  expect(stories.flatMap((story) => checkPublished(story))).toEqual([])
})
