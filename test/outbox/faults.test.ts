/**
 * Goal: whatever goes wrong on the way to GitHub, in the end there is one anchor with the newest
 * text and the newest status, no status was repeated and nothing stays open.
 * Method: every fault on every step of a run's life (first comment, edits, statuses, looks); the
 * simulated GitHub counts what it received.
 */
import { afterEach, describe, expect, it } from 'vitest'
import type { Fault, GitHubSimulator } from '../../src/simulator/index.ts'
import type { World } from './world.ts'
import { context, creates, head, hour, openWorld, repo, second } from './world.ts'

let world: World | undefined
afterEach(async () => await world?.close())

type Makers = GitHubSimulator['faults']

const faults: Readonly<Record<string, (make: Makers) => Fault>> = {
  'the answer is lost after GitHub did it': (make) => make.lostAnswer(),
  'a 502 after GitHub did it': (make) => make.badGateway(),
  'a 500 before': (make) => make.serverError(500),
  'a 503 before': (make) => make.serverError(503),
  'a 2xx nobody can read': (make) => make.brokenJson(),
  'the connection is reset': (make) => make.reset(),
  'the connection never opens': (make) => make.refused(),
  'it hangs before': (make) => make.hang(),
  'it hangs after GitHub did it': (make) => make.hang({ committed: true }),
  'the body comes too slowly': (make) => make.slowBody(),
  'a secondary limit with retry-after': (make) => make.secondaryLimit({ retryAfterSeconds: 30 }),
  'a secondary limit without it': (make) => make.secondaryLimit({ form: 'plain' }),
  'a secondary limit by its message alone': (make) => make.secondaryLimit({ form: 'bare' }),
  'a 429': (make) => make.tooMany({ retryAfterSeconds: 60 }),
  'the quota is used up': (make) => make.primaryExhausted({ forMs: 120 * second }),
  'a 401 once': (make) => make.refuse(401, { message: 'Bad credentials' }),
}

const places = {
  'the first comment': 'POST /repos/{owner}/{repo}/issues/{issue_number}/comments',
  'an edit': 'PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}',
  'a status': 'POST /repos/{owner}/{repo}/statuses/{sha}',
} as const

describe.each(Object.keys(places) as (keyof typeof places)[])('on %s', (place) => {
  it.each(Object.keys(faults))('%s', async (name) => {
    world = await openWorld()
    const { github, time } = world
    const fault = github.faults.add({
      on: { route: places[place] },
      fault: faults[name]?.(github.faults) as Fault,
    })
    world.startPublisher()
    await liveThrough(world)
    expect(fault.hits).toBeGreaterThanOrEqual(1)
    expectOneAnchor(github, 'The summary.')
    expectStatuses(github)
    await time.pass(hour)
    expectOneAnchor(github, 'The summary.')
    for (const delivery of await world.deliveries()) {
      expect(delivery).toMatchObject({ status: 'SENT', dueAt: null })
    }
  })
})

/** An unanswered output is looked for in a list that does not show it yet. */
describe.each([
  ['before the second look', 3 * second],
  ['after every look', 30 * second],
])('a list that shows new items only %s', (_when, lagMs) => {
  it.each([
    ['the first comment', 'GET /repos/{owner}/{repo}/issues/{issue_number}/comments'],
    ['a status', 'GET /repos/{owner}/{repo}/commits/{ref}/statuses'],
  ] as const)('%s', async (place, list) => {
    world = await openWorld()
    const { github, time } = world
    github.faults.add({ on: { route: places[place] }, fault: github.faults.lostAnswer() })
    const lag = github.faults.add({ on: { route: list }, fault: github.faults.listLag(lagMs) })
    world.startPublisher()
    await liveThrough(world)
    await time.pass(hour)
    expect(lag.hits).toBeGreaterThanOrEqual(1)
    expectOneAnchor(github, 'The summary.')
    expect(github.latestStatus(repo, head(1), context)?.state).toBe('success')
    if (lagMs < 5 * second) expect(creates(github)).toBe(1)
    for (const delivery of await world.deliveries()) {
      expect(delivery).toMatchObject({ status: 'SENT', dueAt: null })
    }
  })
})

async function liveThrough(here: World): Promise<void> {
  const { time } = here
  const claimed = await here.claim()
  await time.pass(3 * second)
  await here.report(claimed, 'reading')
  await time.pass(3 * second)
  await here.report(claimed, 'writing')
  await time.pass(3 * second)
  await here.complete(claimed, 'The summary.')
  await time.pass(10 * 60 * second)
}

function expectOneAnchor(github: GitHubSimulator, text: string): void {
  const live = github.comments(repo, 5)
  expect(live).toHaveLength(1)
  expect(live[0]?.body).toContain(text)
  expect(live[0]?.body).toContain('writing')
}

/**
 * While a status could not be sent, the run continued. An outdated status need not be sent any
 * more.
 */
function expectStatuses(github: GitHubSimulator): void {
  const states = github.statuses(repo, head(1), context).map(({ state }) => state)
  expect([['pending', 'success'], ['success']]).toContainEqual(states)
}

it.each([
  ['retry-after', (make: Makers) => make.tooMany({ retryAfterSeconds: 60 }), 60],
  ['a limit without retry-after', (make: Makers) => make.secondaryLimit({ form: 'plain' }), 60],
  ['a bare message', (make: Makers) => make.secondaryLimit({ form: 'bare' }), 60],
])('sends no request while limited by %s (scenario 45, C16)', async (_name, make, seconds) => {
  world = await openWorld()
  const { github, time } = world
  world.startPublisher()
  const claimed = await world.claim()
  await time.pass(5 * second)
  github.faults.add({ on: { method: 'PATCH' }, fault: make(github.faults) })
  await world.report(claimed, 'first')
  await time.pass(3 * second)
  const limitedAt = github.requests.at(-1)?.at ?? 0
  const before = github.requests.length
  for (let i = 0; i < 10; i++) {
    await world.report(claimed, `more ${i}`)
    await time.pass(5 * second)
  }
  expect(github.requests.length).toBe(before)
  await time.pass(30 * second)
  const after = github.requests.slice(before)
  expect((after[0]?.at ?? 0) - limitedAt).toBeGreaterThanOrEqual(seconds * second)
  expect(after.map(({ method }) => method)).toEqual(['PATCH'])
  expect(github.comments(repo, 5)[0]?.body).toContain('more 9')
  expect(creates(github)).toBe(1)
})

it('retries a status after 1, 2 and 4 seconds, then continues (scenario 43)', async () => {
  world = await openWorld()
  const { github, time } = world
  const fault = github.faults.add({
    on: { route: places['a status'], times: 6 },
    fault: github.faults.serverError(500),
  })
  world.startPublisher()
  await world.claim()
  await time.pass(hour)
  expect(fault.hits).toBe(6)
  const at = github.requests
    .filter(({ path, method }) => path.includes('/statuses/') && method === 'POST')
    .map((request) => request.at)
  const gaps = at.slice(1).map((moment, i) => Math.round((moment - (at[i] ?? 0)) / second))
  expect(gaps.slice(0, 3)).toEqual([1, 2, 4])
  expect(gaps[3]).toBeGreaterThanOrEqual(15)
  expect(github.latestStatus(repo, head(1), context)?.state).toBe('pending')
})
