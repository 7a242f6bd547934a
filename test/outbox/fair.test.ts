/**
 * Goal: no account waits for the budget or for the slow answers of another account.
 * Method: one installation with two hundred due writes, and beside it another installation, or a
 * read.
 */
import { afterEach, expect, it } from 'vitest'
import type { Claimed } from '../../src/runs/runs.ts'
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

/** Claims a new pull request, whose status is then due. */
async function claimAt(at: World, place: string, n: number): Promise<void> {
  const createdAt = at.time.wallMs()
  at.github.addPull(place, { number: 100 + n, headSha: head(1000 + n), baseSha, createdAt })
  const about = { repo: place, pr: 100 + n, baseSha, headSha: head(1000 + n) }
  const request = { kind: 'pull_request', type: 'review', threadCreatedAt: createdAt } as const
  await at.act(at.runs.claim({ ...request, ...about }, 'test'))
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
  // The busy installation loses nothing by it either.
  await time.pass(5 * minute)
  expect(statusWrites(github)).toBe(busy + 1)
})

it('leaves slots to others while GitHub is slow to answer one installation', async () => {
  world = await openWorld({ app: true, announcement: statusOnly })
  const { github, time } = world
  github.addRepository(other)
  world.startPublisher()
  // The installation of later deliveries is known from here on.
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

it('makes the settling reads on time while two hundred writes wait', async () => {
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

it('asks the store about a waiting write only as often as it can be sent', async () => {
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
  // Once when it enters the queue, and once in its turn. Each hour starts with one refusal at most.
  expect(asked).toBeLessThanOrEqual(busy + sent + 10)
})

/** A `fetch` that never answers requests with such an address, and passes on all others. */
function hanging(at: World, about: (url: string) => boolean): typeof fetch {
  return (input, init) => {
    const url = input instanceof Request ? input.url : String(input)
    if (!about(url)) return at.github.fetch(input, init)
    const signal = init?.signal
    return new Promise((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason as Error))
    })
  }
}

it('asks for the identity of one account while the question for another hangs', async () => {
  world = await openWorld({ app: true, limits, announcement: statusOnly })
  const { github, time } = world
  github.addRepository(other)
  await claimMany(world, 60)
  await time.pass(second)
  await claimAt(world, other, busy)
  world.startPublisher(hanging(world, (url) => url.includes('/repos/acme/')))
  await time.pass(12 * second)
  expect(github.latestStatus(other, head(1000 + busy), context)?.state).toBe('pending')
})

it('leaves a write in its queue if neither of two nodes has a slot for it', async () => {
  world = await openWorld({ app: true, announcement: statusOnly })
  const { github, time } = world
  const { outbox } = world.store
  let hangs = false
  world.startPublisher(hanging(world, (url) => hangs && url.includes('/statuses/')))
  await claimAt(world, repo, 0)
  await time.pass(2 * second)
  // One node knows its account, but its slots are full. The other waits for the answer to the
  // question for its account.
  hangs = true
  world.startPublisher(hanging(world, (url) => hangs && url.endsWith('/installation')))
  const record = outbox.record.bind(outbox)
  let records = 0
  outbox.record = (...args) => {
    records += 1
    return records > 1000 ? Promise.reject(new Error('too often')) : record(...args)
  }
  for (let n = 1; n < 10; n += 1) await claimAt(world, repo, n)
  await time.pass(5 * second)
  expect(records).toBeLessThanOrEqual(50)
  hangs = false
  await time.pass(2 * minute)
  for (let n = 1; n < 10; n += 1) {
    expect(github.latestStatus(repo, head(1000 + n), context)?.state).toBe('pending')
  }
})

it('serves every account in turn while the question for four others hangs', async () => {
  world = await openWorld({ app: true, limits, announcement: statusOnly })
  const { github, time } = world
  for (const owner of ['a', 'b', 'c', 'd']) {
    github.addRepository(`${owner}/one`)
    for (let n = 0; n < 10; n += 1) await claimAt(world, `${owner}/one`, n)
  }
  github.addRepository(other)
  await time.pass(second)
  await claimAt(world, other, busy)
  world.startPublisher(hanging(world, (url) => /\/repos\/[abcd]\/one/.test(url)))
  await time.pass(40 * second)
  expect(github.latestStatus(other, head(1000 + busy), context)?.state).toBe('pending')
})

/**
 * Returns how long it takes until an unanswered write of another account is known to have arrived.
 */
async function settledAfter(at: World, about: (url: string) => boolean): Promise<number> {
  const { github, time } = at
  github.addRepository(other)
  await claimMany(at, 60)
  at.startPublisher(hanging(at, about))
  await time.pass(5 * minute)
  const onOther = new RegExp(`^POST /repositories/${github.repository(other).id}/statuses`)
  github.faults.add({ on: { route: onOther, times: 1 }, fault: github.faults.lostAnswer() })
  await claimAt(at, other, busy)
  const from = time.wallMs()
  const isSent = async (): Promise<boolean> => {
    const listed = await at.act(at.store.outbox.list({}, { limit: 1000, cursor: null }))
    return listed.items[0]?.status === 'SENT'
  }
  for (let n = 0; n < 120 && !(await isSent()); n += 1) await time.pass(second)
  return time.wallMs() - from
}

it('confirms a write of one account while reads of another hang', async () => {
  world = await openWorld({ app: true, announcement: statusOnly })
  const { id } = world.github.repository(repo)
  const about = (url: string): boolean => url.includes(`/repositories/${id}/`) && /status/.test(url)
  expect(await settledAfter(world, about)).toBeLessThanOrEqual(30 * second)
})

it('leaves slots to others while messages that are sent again hang', async () => {
  world = await openWorld({ app: true, announcement: statusOnly })
  const { id } = world.github.repository(repo)
  const about = (url: string): boolean => url.includes(`/repositories/${id}/statuses/`)
  expect(await settledAfter(world, about)).toBeLessThanOrEqual(30 * second)
})

/** A small budget, so that its use is seen soon. */
const few = { spacingMs: second, perMinute: 40, perHour: 120 }

/** Claims another pull request of the same repository. */
async function claimOther({ github, time, act, runs }: World, number: number): Promise<Claimed> {
  const createdAt = time.wallMs()
  github.addPull(repo, { number, headSha: head(number), baseSha, createdAt })
  const about = { repo, pr: number, baseSha, headSha: head(number), threadCreatedAt: createdAt }
  const type = { kind: 'pull_request', type: 'review' } as const
  return await act(runs.claim({ ...type, ...about }, 'test'))
}

/**
 * One run publishes 150 comments. Then another pull request of its identity is claimed and
 * completed.
 */
async function besideAFlood(at: World, laterMs: number): Promise<void> {
  const { time, publish } = at
  at.startPublisher()
  const busyRun = await at.claim(1)
  await time.pass(5 * second)
  for (let n = 0; n < 150; n += 1) {
    await publish(busyRun, `c${n}`, 'github-comment', { form: 'text', body: `comment ${n}` })
  }
  await time.pass(laterMs)
  await at.complete(await claimOther(at, 6))
  await time.pass(30 * second)
}

it('shows another run at once while one has more comments than an hour allows', async () => {
  world = await openWorld({ limits: few })
  await besideAFlood(world, 0)
  expect(world.github.latestStatus(repo, head(6), context)?.state).toBe('success')
  expect(world.github.comments(repo, 6)[0]?.body).toContain('passed')
})

it('a run with more comments than an hour allows leaves writes to later runs', async () => {
  world = await openWorld({ limits: few })
  await besideAFlood(world, 10 * minute)
  expect(world.github.latestStatus(repo, head(6), context)?.state).toBe('success')
  expect(world.github.comments(repo, 6)[0]?.body).toContain('passed')
  // All of them are sent, with half of what the identity may write.
  await world.time.pass(3 * hour)
  expect(world.github.comments(repo, 5)).toHaveLength(151)
})

it('a run with more comments than an hour allows leaves writes after a restore, too', async () => {
  world = await openWorld({ limits: few })
  const { github, time, publish } = world
  const busyRun = await world.claim(1)
  for (let n = 0; n < 70; n += 1) {
    await publish(busyRun, `c${n}`, 'github-comment', { form: 'text', body: `comment ${n}` })
  }
  await world.act(world.store.outbox.noteRestore())
  world.startPublisher()
  for (const number of [6, 7, 8]) {
    await time.pass(15 * second)
    await world.complete(await claimOther(world, number))
    await time.pass(15 * second)
    expect(github.latestStatus(repo, head(number), context)?.state).toBe('success')
    expect(github.comments(repo, number)[0]?.body).toContain('passed')
  }
  // Each message that was looked for is sent once.
  await time.pass(2 * hour)
  expect(github.comments(repo, 5)).toHaveLength(71)
})

it('still shows the progress of a run beside one with a hundred comments', async () => {
  world = await openWorld({ limits: few })
  const { github, time, publish } = world
  world.startPublisher()
  const busyRun = await world.claim(1)
  const shown = await claimOther(world, 6)
  await time.pass(10 * second)
  for (let n = 0; n < 100; n += 1) {
    await publish(busyRun, `c${n}`, 'github-comment', { form: 'text', body: `comment ${n}` })
  }
  const behind: number[] = []
  for (let n = 0; n < 50; n += 1) {
    await world.report(shown, `report ${n}.`)
    await time.pass(minute)
    const body = github.comments(repo, 6)[0]?.body ?? ''
    behind.push(n - Number(/report (\d+)\./.exec(body)?.[1] ?? -1))
  }
  expect(Math.max(...behind)).toBeLessThanOrEqual(2)
})

it('shows a run at once beside five with sixty comments each, whenever it comes', async () => {
  world = await openWorld({ limits: few })
  const { github, time, publish } = world
  world.startPublisher()
  const busyRuns = [await world.claim(1)]
  for (const number of [11, 12, 13, 14]) busyRuns.push(await claimOther(world, number))
  await time.pass(10 * second)
  for (const busyRun of busyRuns) {
    for (let n = 0; n < 60; n += 1) {
      await publish(busyRun, `c${n}`, 'github-comment', { form: 'text', body: `comment ${n}` })
    }
  }
  await time.pass(30 * minute)
  const at = await claimOther(world, 20)
  await world.complete(at)
  await time.pass(minute)
  expect(github.latestStatus(repo, head(20), context)?.state).toBe('success')
  expect(github.comments(repo, 20)[0]?.body).toContain('passed')
})
