/**
 * Goal: a commit status is written exactly when there is something new to show, and a refusal is
 * final only when GitHub must know the commit.
 * Method: the simulated GitHub counts.
 */
import { afterEach, describe, expect, it } from 'vitest'
import type { World } from './world.ts'
import {
  context,
  head,
  holderOf,
  hour,
  minute,
  openWorld,
  repo,
  second,
  statusWrites,
} from './world.ts'

let world: World | undefined
afterEach(async () => await world?.close())

const route = 'POST /repos/{owner}/{repo}/statuses/{sha}'
const onlyStatus = { announcement: { anchorPer: null } } as const

async function opened(options: Parameters<typeof openWorld>[0] = onlyStatus): Promise<World> {
  world = await openWorld(options)
  return world
}

const complete = (here: World, claimed: Awaited<ReturnType<World['claim']>>, over: object = {}) =>
  here.runs.complete({ ...holderOf(claimed), outcome: 'succeeded', ...over }, 'test')

/** The times of the status writes, counted from the first one. */
function writtenAt({ github }: World): readonly number[] {
  const at = github.requests
    .filter(({ method, path }) => method === 'POST' && path.includes('/statuses/'))
    .map((request) => request.at)
  return at.map((time) => time - (at[0] ?? 0))
}

it('a success is one write, with context and address, cut to 140 (scenario 41)', async () => {
  const here = await opened()
  const claimed = await here.claim()
  const targetUrl = 'https://ci.example/builds/7'
  const description = 'All is well. '.repeat(16)
  await here.act(complete(here, claimed, { description, targetUrl }))
  here.startPublisher()
  await here.time.pass(hour)
  expect(statusWrites(here.github)).toBe(1)
  const [status] = here.github.statuses(repo, head(1), context)
  expect(status).toMatchObject({ context, state: 'success', targetUrl })
  expect(description.length).toBeGreaterThan(200)
  expect(status?.description?.length).toBeGreaterThan(130)
  expect(status?.description?.length).toBeLessThanOrEqual(140)
  expect(description.startsWith(status?.description?.slice(0, -1) ?? '-')).toBe(true)
})

describe.each([
  [404, { message: 'Not Found' }, 'not_found'],
  [422, { message: 'No commit found for SHA' }, 'invalid'],
])('a %i (scenario 44)', (status, body, reason) => {
  const refuse = ({ github }: World, times: number) =>
    github.faults.add({ on: { route, times }, fault: github.faults.refuse(status, body) })

  it('is tried again while GitHub may not know the commit yet', async () => {
    const here = await opened()
    const refused = refuse(here, 3)
    here.startPublisher()
    await here.claim()
    await here.time.pass(minute)
    expect(refused.hits).toBe(3)
    expect(writtenAt(here)).toEqual([0, second, 3 * second, 7 * second])
    expect(await here.delivery('status')).toMatchObject({ status: 'SENT' })
  })

  it('is final with the first try later than 120 s after the push', async () => {
    const here = await opened()
    refuse(here, Infinity)
    here.startPublisher()
    await here.claim()
    await here.time.pass(10 * minute)
    const failed = await here.delivery('status')
    expect(failed).toMatchObject({ status: 'FAILED', reason })
    const tries = await here.act(here.store.outbox.attemptsOf(failed?.id ?? ''))
    // The push is as old as the delivery that it caused.
    const after = tries.map(({ endedAt }) => (endedAt ?? 0) - (failed?.createdAt ?? 0))
    expect(after.filter((ms) => ms >= 2 * minute)).toHaveLength(1)
    expect(after.length).toBeGreaterThan(4)
  })

  it('is final at once for a commit that was pushed before', async () => {
    const here = await opened()
    here.startPublisher()
    const claimed = await here.claim()
    await here.time.pass(2 * minute)
    const refused = refuse(here, Infinity)
    await here.complete(claimed)
    await here.time.pass(10 * minute)
    expect(refused.hits).toBe(1)
    expect(await here.delivery('status')).toMatchObject({ status: 'FAILED', reason })
  })
})

it.each([
  [401, { message: 'Bad credentials' }, 'unauthorized'],
  [403, { message: 'Resource not accessible by integration' }, 'forbidden'],
])(
  'a %i is final at once, however new the commit is (scenario 44)',
  async (status, body, reason) => {
    const here = await opened()
    const refused = here.github.faults.add({
      on: { route, times: Infinity },
      fault: here.github.faults.refuse(status, body),
    })
    here.startPublisher()
    await here.claim()
    await here.time.pass(10 * minute)
    expect(refused.hits).toBe(1)
    expect(await here.delivery('status')).toMatchObject({ status: 'FAILED', reason })
  },
)

it('ten completions at once are one write (scenario 49)', async () => {
  const here = await opened()
  for (let i = 0; i < 3; i++) here.startPublisher()
  const claimed = await here.claim()
  await here.time.pass(5 * second)
  const before = statusWrites(here.github)
  const ten = Array.from({ length: 10 }, (_, n) => n)
  const ends = await here.act(
    Promise.all(ten.map((n) => complete(here, claimed, { description: `Done ${n}.` }))),
  )
  const [first] = ends
  for (const end of ends) expect(end).toEqual(first)
  await here.time.pass(hour)
  expect(statusWrites(here.github) - before).toBe(1)
  const description = expect.stringContaining(first?.description ?? '-') as string
  const shown = here.github.latestStatus(repo, head(1), context)
  expect(shown).toMatchObject({ state: 'success', description })
})

it.each([
  ['nothing on GitHub', {}],
  ['a commit of no repository', { sha: head(1) }],
])('work that is about %s sends nothing to GitHub (scenario 54)', async (_what, about) => {
  const here = await opened({})
  here.startPublisher()
  const job = { kind: 'job', type: 'build', key: 'nightly', ...about } as const
  const claimed = await here.act(here.runs.claim(job, 'test'))
  await here.report(claimed, 'at it')
  await here.complete(claimed)
  await here.time.pass(hour)
  expect(here.github.requests.filter(({ path }) => path !== '/user')).toEqual([])
  expect(await here.deliveries()).toEqual([])
})

describe('the number of statuses that GitHub accepts per commit and context (scenario 55)', () => {
  it('an unchanged state is not written again', async () => {
    const here = await opened()
    here.startPublisher()
    const claimed = await here.claim()
    const own = { context: 'ci/own', state: 'pending', description: 'at it', targetUrl: null }
    for (let i = 0; i < 10; i++) {
      await here.report(claimed, `step ${i}`)
      await here.publish(claimed, 'own', 'github-status', own)
      await here.time.pass(5 * second)
    }
    expect(here.github.statuses(repo, head(1), context)).toHaveLength(1)
    expect(here.github.statuses(repo, head(1), 'ci/own')).toHaveLength(1)
  })

  it('the last 50 of 1,000 are reserved for ends, also after lost answers', async () => {
    const here = await opened({ ...onlyStatus, rules: { coalesceMs: 0, settleAfterMs: [] } })
    here.startPublisher()
    const claimed = await here.claim()
    const say = async (state: string, description: string, ms: number): Promise<void> => {
      const content = { context: 'ci/own', state, description, targetUrl: null }
      await here.publish(claimed, 'own', 'github-status', content)
      await here.time.pass(ms)
    }
    const written = () => here.github.statuses(repo, head(1), 'ci/own')
    await here.time.pass(second)
    const { faults } = here.github
    const lost = faults.add({ on: { route, times: 20 }, fault: faults.lostAnswer() })
    for (let n = 1; n <= 20; n++) await say('pending', `unheard ${n}`, 10 * second)
    expect([lost.hits, written().length]).toEqual([20, 20])
    for (let n = 1; n <= 932; n++) await say('pending', `part ${n}`, second)
    expect(written()).toHaveLength(950)
    expect(await here.delivery('own')).toMatchObject({ status: 'SKIPPED', reason: 'status_limit' })
    await say('success', 'all parts', second)
    expect(written()).toHaveLength(951)
    expect(written().at(-1)).toMatchObject({ state: 'success', description: 'all parts' })
  })
})
